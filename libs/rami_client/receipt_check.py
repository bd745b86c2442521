"""Whether a replay is the match that a player saw: every step of a receipt against what the replay says of
it.

Trusts that the replay has been verified by itself. A receipt without gaps also proves that nothing was put
in or left out; what it does not cover, the check says.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple

from rami_client.walk import walk
from rami_engine import (
    Phase,
    ReplayError,
    ReplayPlace,
    RuleOptions,
    SeatView,
    apply,
    format_action,
    format_card,
    seat_view,
)
from rami_wire import action_from_proto, options_from_proto, to_cards

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rami.game.v1 import event_pb2, replay_pb2, room_pb2, rules_pb2
    from rami.game.v1 import game_service_pb2 as game
    from rami_client.receipt import Receipt, Sighting
    from rami_engine import Card, Mask, MatchState, ReplayRecord


class Coverage(NamedTuple):
    """What of a match a receipt has seen."""

    sightings: int
    """Its steps, all of which agree with the replay."""
    versions: tuple[tuple[int, int], ...]
    """The first and the last version of each stretch without a gap, in order; only snapshots leave gaps."""
    from_start: bool
    """Whether it saw the match start."""
    to_end: bool
    """Whether it reaches the last thing that the replay tells."""

    @property
    def whole(self) -> bool:
        """Whether nothing of the match is missing."""
        return self.from_start and self.to_end and len(self.versions) == 1


def check_receipt(replay: game.GetReplayResponse, record: ReplayRecord, receipt: Receipt) -> Coverage:
    """What the receipt covers; the replay confirms all of it.

    Raises ReplayError at the first step that it does not confirm, and for a receipt that has lost lines. `record` is
    the replay's, verified.
    """
    _check_terms(replay.header, receipt)
    _check_order(receipt)
    ledger = _ledger(replay, record)
    seats: list[room_pb2.Seat] = []
    for seen in receipt.sightings:
        _take_seats(seats, seen)
        if seen.snapshot:
            _check_snapshot(ledger, seen)
        else:
            _check_event(ledger, seen, receipt.seat)
        if _in_match(seen):
            _check_seats(replay.header, seats, seen.version)
    return _coverage(ledger, receipt)


def _check_order(receipt: Receipt) -> None:
    """Every event follows what was seen before it: a client writes down no other."""
    previous: int | None = None
    for seen in receipt.sightings:
        if not seen.snapshot and previous is None:
            raise ReplayError(ReplayPlace(), f"the receipt begins with version {seen.version}, without a snapshot")
        if not seen.snapshot and previous is not None and seen.version > previous + 1:
            missing = f"{previous + 1} to {seen.version - 1}" if seen.version > previous + 2 else f"{previous + 1}"
            raise ReplayError(ReplayPlace(), f"the receipt has a gap: its lines of version {missing} are missing")
        if not seen.snapshot and previous is not None and seen.version <= previous:
            raise ReplayError(ReplayPlace(), f"the receipt has version {seen.version} again after {previous}")
        previous = seen.version


def _coverage(ledger: _Ledger, receipt: Receipt) -> Coverage:
    stretches: list[tuple[int, int]] = []
    seen_versions = sorted({seen.version for seen in receipt.sightings})
    for version in seen_versions:
        if stretches and version == stretches[-1][1] + 1:
            stretches[-1] = (stretches[-1][0], version)
        else:
            stretches.append((version, version))
    if ledger.replay.header.HasField("result"):
        to_end = any(_sees_end(seen) for seen in receipt.sightings)
    else:
        to_end = bool(seen_versions) and seen_versions[-1] >= max(ledger.by_version, default=0)
    from_start = any(change.HasField("match_started") for seen in receipt.sightings for change in seen.changes)
    return Coverage(len(receipt.sightings), tuple(stretches), from_start, to_end)


def _sees_end(seen: Sighting) -> bool:
    shown = seen.view is not None and seen.view.phase == Phase.MATCH_OVER
    return shown or any(change.HasField("match_ended") for change in seen.changes)


def _in_match(seen: Sighting) -> bool:
    """Whether the seats at this sighting are known and those of the match."""
    return seen.view is not None or any(change.HasField("match_started") for change in seen.changes)


def _take_seats(seats: list[room_pb2.Seat], seen: Sighting) -> None:
    """Who sits where after a sighting; empty while nobody has said."""
    if seen.snapshot:
        seats[:] = seen.seats
    for change in seen.changes:
        if change.HasField("seat_changed") and change.seat_changed.seat.seat < len(seats):
            seats[change.seat_changed.seat.seat] = change.seat_changed.seat


def _check_seats(header: replay_pb2.ReplayHeader, seats: list[room_pb2.Seat], version: int) -> None:
    """Who sat where in the match; whether somebody was away is no part of the record."""
    for recorded, shown in zip(header.seats, seats, strict=False):
        parts = (
            ("bot", recorded.bot.bot, shown.bot.bot),
            ("player id", recorded.player.player_id, shown.player.player_id),
            ("display name", recorded.player.display_name, shown.player.display_name),
            ("entropy", "there" if recorded.entropy_set else "none", "there" if shown.entropy_set else "none"),
        )
        for name, is_value, value in parts:
            if is_value != value:
                raise ReplayError(
                    ReplayPlace(),
                    f"the {name} of seat {recorded.seat} is {is_value or 'none'}, and the receipt saw "
                    f"{value or 'none'} at version {version}",
                )


@dataclass(slots=True)
class _Ledger:
    """A verified replay, opened for looking things up."""

    replay: game.GetReplayResponse
    record: ReplayRecord
    by_version: dict[int, list[tuple[ReplayPlace, replay_pb2.ReplayAction]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    drawn: dict[ReplayPlace, Card | None] = field(default_factory=dict)
    """The card that each replayed action drew."""
    deals: dict[int, MatchState] = field(default_factory=dict)
    """The match right after each deal, by round number."""
    last_hands: dict[int, tuple[Mask, ...]] = field(default_factory=dict)
    """The hands when each round was left, by round number."""

    def round(self, number: int, what: str) -> replay_pb2.ReplayRound:
        """A round of the replay. Raises ReplayError when it is missing, saying what the receipt saw of it."""
        if not 1 <= number <= len(self.replay.rounds):
            raise ReplayError(ReplayPlace(number), f"is left out, and the receipt saw it {what}")
        return self.replay.rounds[number - 1]

    def place_before(self, version: int) -> ReplayPlace:
        """Where the replay stands at a version that it has no action of."""
        earlier = [known for known in self.by_version if known < version]
        return self.by_version[max(earlier)][-1][0] if earlier else ReplayPlace()


def _ledger(replay: game.GetReplayResponse, record: ReplayRecord) -> _Ledger:
    ledger = _Ledger(replay, record)
    for played in replay.rounds:
        for number, action in enumerate(played.actions, 1):
            place = ReplayPlace(played.round_number, number)
            ledger.by_version[action.version].append((place, action))
    for moment in walk(record):
        current = moment.match.round
        assert current is not None, "a walk begins with a deal"
        if moment.outcome is None:
            ledger.deals[current.number] = moment.match.copy()
        else:
            ledger.drawn[moment.place] = moment.outcome.drawn
        ledger.last_hands[current.number] = tuple(current.hands)
    return ledger


def _check_terms(header: replay_pb2.ReplayHeader, receipt: Receipt) -> None:
    """What was promised before the match."""
    terms: list[tuple[str, object, object]] = [
        ("room", header.room_id, receipt.room_id),
        ("commitment", header.commitment.hex(), receipt.commitment.hex()),
        ("number of seats", len(header.seats), receipt.players),
        ("rules", f"{header.rules_id} {header.rules_version}", f"{receipt.rules_id} {receipt.rules_version}"),
        *_options(header.options, receipt.options),
        *_guards(header.guards, receipt.guards),
    ]
    for name, recorded, promised in terms:
        if recorded != promised:
            raise ReplayError(ReplayPlace(), f"its {name} is {recorded}, and the receipt has {promised}")
    seat = receipt.seat
    if receipt.entropy is None or seat is None:
        return
    if seat >= len(header.entropies) or header.entropies[seat] != receipt.entropy:
        raise ReplayError(ReplayPlace(), f"the entropy of seat {seat} is not the one that its player brought")


def _check_event(ledger: _Ledger, seen: Sighting, seat: int | None) -> None:
    """Every change of an event, and that the replay has no further action of that version."""
    acted = [change.action_played for change in seen.changes if change.HasField("action_played")]
    recorded = ledger.by_version.get(seen.version, [])
    for (place, action), played in zip(recorded, acted, strict=False):
        _check_action(ledger, place, action, played)
        if _time(action) != seen.time:
            raise ReplayError(
                place,
                f"its time is {_time(action) or 'not recorded'}, and the receipt saw it at {seen.time or 'no time'}",
            )
    if len(acted) > len(recorded):
        missing = _described(acted[len(recorded)])
        raise ReplayError(
            ledger.place_before(seen.version),
            f"after it the receipt saw {missing} at version {seen.version}, which is left out",
        )
    if len(recorded) > len(acted):
        place = recorded[len(acted)][0]
        raise ReplayError(place, f"the receipt saw no such action at version {seen.version}")
    for change in seen.changes:
        match change.WhichOneof("kind"):
            case "match_started":
                _check_start(ledger, change.match_started, seen.time)
            case "round_started":
                _check_deal(ledger, change.round_started, seat)
            case "round_ended":
                _check_round_end(ledger, change.round_ended)
            case "match_ended":
                _check_match_end(ledger, change.match_ended)
            case _:
                pass  # nothing else is recorded in a replay


def _check_action(
    ledger: _Ledger, place: ReplayPlace, recorded: replay_pb2.ReplayAction, seen: event_pb2.ActionPlayed
) -> None:
    if (recorded.seat, action_from_proto(recorded.action)) != (seen.seat, action_from_proto(seen.action)):
        raise ReplayError(place, f"the receipt saw {_described(seen)} instead")
    if recorded.source != seen.source:
        raise ReplayError(place, "the receipt saw that somebody else chose it")
    if seen.HasField("drawn") and place in ledger.drawn and ledger.drawn[place] != seen.drawn - 1:
        raise ReplayError(place, f"the receipt saw it draw {format_card(seen.drawn - 1)}")


def _check_start(ledger: _Ledger, seen: event_pb2.MatchStarted, time: str) -> None:
    header = ledger.replay.header
    start = header.start_time.ToJsonString() if header.HasField("start_time") else ""
    if start != time:
        raise ReplayError(
            ReplayPlace(),
            f"its start time is {start or 'not recorded'}, and the receipt saw it start at {time or 'no time'}",
        )
    for seat, (recorded, frozen) in enumerate(zip(ledger.replay.header.entropies, seen.entropies, strict=False)):
        if recorded != frozen:
            raise ReplayError(ReplayPlace(), f"the entropy of seat {seat} is not the one that was frozen")


def _check_deal(ledger: _Ledger, seen: event_pb2.RoundStarted, seat: int | None) -> None:
    number = seen.round_number
    place = ReplayPlace(number)
    ledger.round(number, "dealt")
    dealt = ledger.deals.get(number)
    if dealt is None:
        return  # in play when the replay was made: its cards are not known
    current = dealt.round
    assert current is not None, "a deal makes a round"
    sizes = {hand.bit_count() for hand in current.hands}
    if (seen.starting_seat, {seen.hand_size}, seen.stock_size) != (current.turn, sizes, current.stock_count):
        raise ReplayError(place, "the receipt saw it dealt by other rules")
    if seen.up_card - 1 != current.discards[0]:
        raise ReplayError(place, f"the receipt saw {format_card(seen.up_card - 1)} turned up")
    if seen.hand and seat is not None and list(seen.hand) != to_cards(current.hands[seat]):
        raise ReplayError(place, f"the receipt saw another hand dealt to seat {seat}")


def _check_round_end(ledger: _Ledger, seen: event_pb2.RoundEnded) -> None:
    number = seen.result.round_number
    place = ReplayPlace(number)
    recorded = ledger.round(number, "end")
    if recorded.result != seen.result:
        raise ReplayError(place, "its result is not the one that the receipt saw")
    if recorded.seed != seen.seed:
        raise ReplayError(place, "its seed is not the one that the receipt saw")
    left = [to_cards(hand) for hand in ledger.last_hands[number]]
    if [list(hand.cards) for hand in seen.hands] != left:
        raise ReplayError(place, "the receipt saw other hands at its end")


def _check_match_end(ledger: _Ledger, seen: event_pb2.MatchEnded) -> None:
    if seen.result != ledger.replay.header.result:
        raise ReplayError(ReplayPlace(), "its result is not the one that the receipt saw")
    if seen.seed and seen.seed != ledger.replay.rounds[-1].seed:
        raise ReplayError(
            ReplayPlace(ledger.replay.rounds[-1].round_number), "its seed is not the one that the receipt saw"
        )


def _check_snapshot(ledger: _Ledger, seen: Sighting) -> None:
    """What a snapshot showed is what the replay shows the same viewer at that version."""
    view = seen.view
    if view is None or not view.round_number:
        return
    ledger.round(view.round_number, f"in play at version {seen.version}")
    dealt = ledger.deals.get(view.round_number)
    if dealt is None:
        return  # in play when the replay was made: its cards are not known
    match = dealt.copy()
    place = ReplayPlace(view.round_number)
    recorded = ledger.record.rounds[view.round_number - 1].actions
    versions = [action.version for action in ledger.replay.rounds[view.round_number - 1].actions]
    for number, ((seat, action), version) in enumerate(zip(recorded, versions, strict=True), 1):
        if version > seen.version:
            break
        apply(match, seat, action)
        place = ReplayPlace(view.round_number, number)
    shown = seat_view(match, view.viewer)
    for part in fields(SeatView):
        if getattr(shown, part.name) != getattr(view, part.name) and not _abandoned(ledger, part.name):
            raise ReplayError(
                place, f"the receipt saw another {part.name.replace('_', ' ')} there, at version {seen.version}"
            )


def _abandoned(ledger: _Ledger, name: str) -> bool:
    """The phase of an abandoned match is over for those who watch, and as it was left for the replay."""
    return ledger.record.abandoned and name == "phase"


def _time(action: replay_pb2.ReplayAction) -> str:
    return action.time.ToJsonString() if action.HasField("time") else ""


def _options(recorded: rules_pb2.RuleOptions, promised: rules_pb2.RuleOptions) -> Iterator[tuple[str, str, str]]:
    """Each option with its two values in the contract's words."""
    ours, theirs = options_from_proto(recorded, "options"), options_from_proto(promised, "options")
    for part in fields(RuleOptions):
        values = [str(getattr(options, part.name)).lower() for options in (ours, theirs)]
        yield f"option {part.name}", values[0], values[1]


def _guards(recorded: rules_pb2.Guards, promised: rules_pb2.Guards) -> Iterator[tuple[str, str, str]]:
    """Each guard with its two values."""
    for name in ("max_turns_per_round", "max_turns_per_match"):
        yield f"guard {name}", str(getattr(recorded, name)), str(getattr(promised, name))


def _described(played: event_pb2.ActionPlayed) -> str:
    return f"seat {played.seat} play {format_action(action_from_proto(played.action))!r}"
