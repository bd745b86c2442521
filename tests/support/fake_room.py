"""A room of the fake game service: lobby, match, versions, and what each viewer is shown of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from google.protobuf.timestamp_pb2 import Timestamp

from rami.game.v1 import event_pb2, replay_pb2, room_pb2, rules_pb2
from rami_engine import (
    Action,
    ActionKind,
    Guards,
    MatchState,
    Outcome,
    Phase,
    RuleOptions,
    apply,
    deck_for_round,
    fallback_action,
    legal_actions,
    new_chain,
    new_match,
    seat_view,
    start_round,
)
from rami_wire import (
    action_to_proto,
    guards_to_proto,
    options_to_proto,
    phase_to_proto,
    result_to_proto,
    to_cards,
    view_to_proto,
)
from rami_wire.cards import WIRE_CARDS

Projection = Callable[[int | None], event_pb2.Change]


@dataclass
class Step:
    """One version of a room: what happened, and the match after it."""

    version: int
    epoch: int
    projections: list[Projection]
    match: MatchState | None


@dataclass
class FakeRoom:
    """A room of people (by name) and bots (empty names)."""

    room_id: str
    names: list[str]
    options: RuleOptions
    guards: Guards
    root: bytes
    steps: list[Step] = field(default_factory=list)
    match: MatchState | None = None
    status: room_pb2.RoomStatus.ValueType = room_pb2.ROOM_STATUS_LOBBY
    entropies: list[bytes] = field(default_factory=list)
    rounds: list[replay_pb2.ReplayRound] = field(default_factory=list)
    answers: dict[str, int] = field(default_factory=dict)
    epoch: int = 0
    start_version: int = 0
    """The version in which the match started."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    deals_at_once: bool = True
    """The next round is dealt in the step that ends one; else a test commits the deal."""
    turn_seconds: int = 0
    """How long a turn may take; 0 for no limit."""
    late_seconds: int = 0
    """How long after the latest step snapshots are made."""
    holds: set[int] = field(default_factory=set)
    """Versions that are not sent: the next one makes a gap."""

    def __post_init__(self) -> None:
        self.entropies = [b"" for _ in self.names]
        self.chain = new_chain(self.root)
        self.commit([lambda _: event_pb2.Change(room_created=event_pb2.RoomCreated())])

    @property
    def version(self) -> int:
        return self.steps[-1].version

    def cursor(self, version: int) -> bytes:
        return f"{self.steps[version - 1].epoch}:{version}".encode()

    def time(self, version: int) -> Timestamp:
        """When a version came about: every step takes a second."""
        return Timestamp(seconds=1_700_000_000 + version)

    def commit(self, projections: list[Projection]) -> None:
        match = self.match.copy() if self.match is not None else None
        self.steps.append(Step(len(self.steps) + 1, self.epoch, projections, match))
        self.wake()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def message(self) -> room_pb2.Room:
        seats = [self.seat(number) for number in range(len(self.names))]
        room = room_pb2.Room(
            room_id=self.room_id,
            status=self.status,
            options=room_pb2.RoomOptions(seats=len(self.names), rules=options_to_proto(self.options)),
            guards=guards_to_proto(self.guards),
            seats=seats,
            commitment=self.chain.seed(0),
            rules_id="cardverse.rami",
            rules_version="1.1.0",
            version=self.version,
            turn=self.turn(self.match, self.version),
        )
        if self.match is not None:
            room.entropies.extend(self.entropies)
            if self.match.winner is not None:
                room.result.CopyFrom(self.result())
        return room

    def seat(self, number: int) -> room_pb2.Seat:
        name = self.names[number]
        if name:
            player = room_pb2.SeatedPlayer(player_id=name, display_name=name.title())
            return room_pb2.Seat(seat=number, player=player, entropy_set=bool(self.entropies[number]))
        return room_pb2.Seat(seat=number, bot=room_pb2.SeatedBot(bot="easy"))

    def turn(self, match: MatchState | None, version: int) -> room_pb2.Turn | None:
        """Whose turn it is in a version, which every step gives a new clock."""
        if match is None or match.phase not in (Phase.DRAW, Phase.PLAY) or match.round is None:
            return None
        turn = room_pb2.Turn(seat=match.round.turn, phase=phase_to_proto(match.phase))
        if self.turn_seconds:
            turn.deadline.seconds = self.time(version).seconds + self.turn_seconds
        return turn

    def result(self) -> rules_pb2.MatchResult:
        assert self.match is not None
        return rules_pb2.MatchResult(
            reason=rules_pb2.MATCH_END_REASON_TARGET_SCORE,
            winner_seat=self.match.winner,
            scores=self.match.scores,
        )

    def event(self, step: Step, viewer: int | None) -> event_pb2.Event:
        return event_pb2.Event(
            version=step.version,
            time=self.time(step.version),
            cursor=self.cursor(step.version),
            changes=[project(viewer) for project in step.projections],
            turn=self.turn(step.match, step.version),
        )

    def snapshot(self, viewer: int | None, *, rewound: bool) -> event_pb2.Snapshot:
        message = event_pb2.Snapshot(room=self.message(), cursor=self.cursor(self.version), rewound=rewound)
        message.time.seconds = self.time(self.version).seconds + self.late_seconds
        if self.match is not None:
            message.view.CopyFrom(view_to_proto(seat_view(self.match, viewer)))
            if self.match.phase in (Phase.ROUND_OVER, Phase.MATCH_OVER):
                message.round_ended.CopyFrom(self.round_ended()(viewer).round_ended)
            if self.match.winner is not None:
                message.match_ended.result.CopyFrom(self.result())
        return message

    def events_after(self, version: int, viewer: int | None) -> list[event_pb2.Event]:
        """The steps after a version, without those that are held back once."""
        held = {step.version for step in self.steps[version:]} & self.holds
        self.holds -= held
        return [self.event(step, viewer) for step in self.steps[version:] if step.version not in held]

    def version_of(self, cursor: bytes) -> int | None:
        """The version of a cursor that names a past of this room; None otherwise."""
        version = int(cursor.partition(b":")[2] or b"0")
        known = 0 < version <= self.version and self.cursor(version) == cursor
        return version if known else None

    def legal(self, seat: int) -> tuple[Action, ...]:
        """What a seat may do."""
        return legal_actions(self.match, seat) if self.match is not None else ()

    def close(self) -> None:
        """The room goes away."""
        self.status = room_pb2.ROOM_STATUS_CLOSED
        closed = event_pb2.RoomClosed(reason=event_pb2.ROOM_CLOSE_REASON_EXPIRED)
        self.commit([lambda _: event_pb2.Change(room_closed=closed)])

    def bring_entropy(self, seat: int, entropy: bytes) -> None:
        self.entropies[seat] = entropy
        after = self.seat(seat)
        self.commit(
            [
                lambda _: event_pb2.Change(
                    seat_changed=event_pb2.SeatChanged(seat=after, cause=event_pb2.SEAT_CHANGE_CAUSE_ENTROPY)
                )
            ]
        )

    def start(self) -> None:
        """Starts the match and deals the first round."""
        self.match = new_match(len(self.names), self.options, self.guards)
        self.status = room_pb2.ROOM_STATUS_IN_MATCH
        self.start_version = self.version + 1
        started = event_pb2.MatchStarted(entropies=self.entropies)
        self.commit([lambda _: event_pb2.Change(match_started=started), self.deal()])

    def deal(self) -> Projection:
        assert self.match is not None
        number = self.match.round.number + 1 if self.match.round is not None else 1
        start_round(self.match, deck_for_round(self.chain.seed(number), number, self.entropies))
        self.rounds.append(replay_pb2.ReplayRound(round_number=number))
        dealt = self.match.copy().round
        assert dealt is not None

        def project(viewer: int | None) -> event_pb2.Change:
            return event_pb2.Change(
                round_started=event_pb2.RoundStarted(
                    round_number=number,
                    starting_seat=dealt.turn,
                    up_card=WIRE_CARDS[dealt.discards[0]],
                    hand_size=dealt.hands[0].bit_count(),
                    stock_size=dealt.stock_count,
                    hand=to_cards(dealt.hands[viewer]) if viewer is not None else (),
                )
            )

        return project

    def play(self, seat: int, action: Action, source: event_pb2.ActionSource.ValueType) -> None:
        """Plays an action, and what follows from it. Raises IllegalAction."""
        assert self.match is not None
        outcome = apply(self.match, seat, action)
        projections: list[Projection] = [_played(seat, outcome, source)]
        played = self.rounds[-1]
        played.actions.add(
            seat=seat,
            action=action_to_proto(action),
            source=source,
            version=self.version + 1,
            time=self.time(self.version + 1),
        )
        if outcome.round_end is not None:
            played.seed = self.chain.seed(outcome.round_end.number)
            played.result.CopyFrom(result_to_proto(outcome.round_end))
            projections.append(self.round_ended())
            if outcome.match_end is not None:
                self.status = room_pb2.ROOM_STATUS_OVER
                ended = event_pb2.MatchEnded(result=self.result())
                projections.append(lambda _: event_pb2.Change(match_ended=ended))
            elif self.deals_at_once:
                projections.append(self.deal())
        self.commit(projections)

    def round_ended(self) -> Projection:
        assert self.match is not None
        assert self.match.round is not None
        assert self.match.results is not None
        ended = event_pb2.RoundEnded(
            result=result_to_proto(self.match.results), seed=self.chain.seed(self.match.round.number)
        )
        for number, hand in enumerate(self.match.round.hands):
            ended.hands.add(seat=number, cards=to_cards(hand))
        return lambda _: event_pb2.Change(round_ended=ended)

    def play_bots(self) -> None:
        """Lets bots move until a person is to move, or the match is over."""
        match = self.match
        while match is not None and match.phase in (Phase.DRAW, Phase.PLAY):
            assert match.round is not None
            seat = match.round.turn
            if self.names[seat]:
                return
            self.play(seat, fallback_action(seat_view(match, seat)), event_pb2.ACTION_SOURCE_BOT)

    def rewind(self, version: int) -> None:
        """Loses every step after a version, as a store does that fails over."""
        del self.steps[version:]
        before = self.steps[-1].match
        self.match = before.copy() if before is not None else None
        self.epoch += 1
        self.answers.clear()
        kept: list[replay_pb2.ReplayRound] = []
        for played in self.rounds:
            actions = [action for action in played.actions if action.version <= version]
            if actions or not kept:
                fresh = replay_pb2.ReplayRound(round_number=played.round_number, actions=actions)
                kept.append(fresh)
        self.rounds = kept
        self.wake()

    def replay_header(self) -> replay_pb2.ReplayHeader:
        header = replay_pb2.ReplayHeader(
            room_id=self.room_id,
            rules_id="cardverse.rami",
            rules_version="1.1.0",
            options=options_to_proto(self.options),
            guards=guards_to_proto(self.guards),
            seats=[self.seat(number) for number in range(len(self.names))],
            commitment=self.chain.seed(0),
            entropies=self.entropies,
            start_time=self.time(self.start_version),
        )
        if self.match is not None and self.match.winner is not None:
            header.result.CopyFrom(self.result())
        return header


def _played(seat: int, outcome: Outcome, source: event_pb2.ActionSource.ValueType) -> Projection:
    def project(viewer: int | None) -> event_pb2.Change:
        played = event_pb2.ActionPlayed(seat=seat, action=action_to_proto(outcome.action), source=source)
        public = outcome.action.kind == ActionKind.DRAW_DISCARD
        if outcome.drawn is not None and (public or viewer == seat):
            played.drawn = WIRE_CARDS[outcome.drawn]
        return event_pb2.Change(action_played=played)

    return project
