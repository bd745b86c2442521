"""The services broken on purpose, one way at a time, and mended again: what the simulation must notice."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from support import chaos_broken_game

if TYPE_CHECKING:
    from collections.abc import Iterator

BREAKS = tuple(each.__name__ for each in chaos_broken_game.BREAKS)


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Within it, the game service has this break."""
    undo: list[tuple[object, str, object]] = []

    def replace(owner: object, attribute: str, value: object) -> None:
        undo.append((owner, attribute, vars(owner)[attribute]))
        setattr(owner, attribute, value)

    with patch.object(chaos_broken_game, "_replace", replace), patch.object(
        chaos_broken_game, "_replace_in", replace
    ):
        next(each for each in chaos_broken_game.BREAKS if each.__name__ == name)()
    try:
        yield
    finally:
        for owner, attribute, value in reversed(undo):
            setattr(owner, attribute, value)


__all__ = ["BREAKS", "broken"]
