"""What a service does about the cyclic garbage collector once it is up."""

from __future__ import annotations

import gc
import weakref

from rami_kit.app import COLLECT_AFTER, _settle_memory


class Knot:
    """Something that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_there_is_not_looked_at_again_and_what_comes_is_still_freed() -> None:
    before = gc.get_threshold()
    frozen = gc.get_freeze_count()
    waste = weakref.ref(Knot())
    try:
        _settle_memory()

        assert waste() is None, "what was garbage by then is not kept for ever"
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold() == COLLECT_AFTER
        assert all(gc.get_threshold()), "a threshold of 0 would never look again"
        young, older, all_of_them = COLLECT_AFTER
        assert young * (older + 1) * (all_of_them + 1) <= 250_000, "so much garbage there may be"
        later = weakref.ref(Knot())
        gc.collect()
        assert later() is None
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
