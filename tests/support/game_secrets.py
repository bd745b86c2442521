"""What was hidden from whom at every version of a room, and a search for it in everything that was sent.

The truth comes from the room's log in the store, which no client ever sees: who held which cards, and which cards had
lain face up in the round. A message to a viewer may name the viewer's own cards and those that have been public.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from game_state.steps import Dealt, Played, Step
from rami.game.v1 import event_pb2
from rami_engine import CHAIN_LENGTH, ActionKind, cards_of, seed_for_round

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message

    from game_state.room import Room
    from game_state.steps import StepChange

CARD = "rami.cards.v1.Card"


@dataclass
class Knowledge:
    """Who may know which cards."""

    own: list[set[int]] = field(default_factory=list)
    """By seat: the cards that are or were in its hand in this round."""
    public: set[int] = field(default_factory=set)
    """Cards that are or were face up in this round."""

    def known(self, viewer: int | None) -> set[int]:
        return self.public if viewer is None else self.public | self.own[viewer]


class Truth:
    """The history of a room as the store has it."""

    def __init__(self, room: Room, log: list[tuple[int, bytes]]) -> None:
        self._after: dict[int, list[Knowledge]] = {}
        self._revealed: dict[int, int] = {}
        now = Knowledge([set() for _ in room.seats])
        for version, encoded in log:
            self._after[version] = []
            for change in Step.from_bytes(encoded).changes:
                now = self._changed(now, change, version)
                self._after[version].append(now)
        root = room.chain.root
        last = max(self._revealed, default=0) + 1
        self.secrets = [root, root[:16], room.chain.checkpoint]
        self.secrets += [seed_for_round(root, number) for number in range(last + 1, last + 4)]
        self.seeds = {number: seed_for_round(root, number) for number in range(1, last + 1)}
        assert last + 4 < CHAIN_LENGTH

    def _changed(self, before: Knowledge, change: StepChange, version: int) -> Knowledge:
        now = deepcopy(before)
        if isinstance(change, Dealt):
            return Knowledge([set(cards_of(hand)) for hand in change.hands], {change.up_card})
        if isinstance(change, Played):
            seat, action, _, drawn = change
            if drawn is not None:
                now.own[seat].add(drawn)
            if action.kind not in (ActionKind.DRAW_STOCK, ActionKind.DRAW_DISCARD):
                now.public |= set(cards_of(action.cards))
            return now
        told = event_pb2.Change.FromString(change.encoded)
        if told.HasField("round_ended"):
            self._revealed[told.round_ended.result.round_number] = version
            now.public = set(range(52))
        if told.HasField("match_ended") and told.match_ended.seed:
            self._revealed[len(self._revealed) + 1] = version
        return now

    def check_event(self, event: event_pb2.Event, viewer: int | None) -> None:
        """Every change may name what was known when it happened."""
        for change, knowledge in zip(event.changes, self._after[event.version], strict=True):
            _require_known(change, knowledge.known(viewer))
        self.check_seeds(event, event.version)

    def check_state(self, message: Message, version: int, viewer: int | None) -> None:
        """A snapshot, view or list of legal actions of a version may name what was known after it."""
        _require_known(message, self._after[version][-1].known(viewer))
        self.check_seeds(message, version)

    def check_seeds(self, message: Message, version: int) -> None:
        """No seed is sent before its round has ended, and the root never."""
        encoded = message.SerializeToString()
        for secret in self.secrets:
            assert secret not in encoded, "a secret of the room was sent"
        for number, seed in self.seeds.items():
            if version < self._revealed.get(number, 1 << 63):
                assert seed not in encoded, f"the seed of round {number} was sent in version {version}"


def cards_in(message: Message) -> Iterator[int]:
    """Every card, by index, that a message names anywhere."""
    for descriptor, value in message.ListFields():
        values = value if descriptor.is_repeated else [value]
        if descriptor.enum_type is not None and descriptor.enum_type.full_name == CARD:
            yield from (card - 1 for card in values)
        elif descriptor.message_type is not None:
            for inner in values:
                yield from cards_in(inner)


def _require_known(message: Message, known: set[int]) -> None:
    hidden = set(cards_in(message)) - known
    assert not hidden, f"{len(hidden)} hidden cards were sent in a {type(message).__name__}"
