"""What holds for every room that can be reached: its stored form, its copies, and what each viewer is told."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from game_state.codec import decode_room, encode_room, room_header
from game_state.decider import decision_request
from game_state.events import CommittedStep
from game_state.match import play, play_for_player
from game_state.projection import encoded_legal_actions, room_message
from game_state.replays import replay_page
from game_state.room import Room, Status
from game_state.steps import Dealt, Played, Step
from rami.game.v1 import event_pb2
from rami_client.state import RoomMirror
from rami_engine import (
    Action,
    ActionKind,
    Guards,
    RuleOptions,
    RulesError,
    SeedChain,
    cards_of,
    discard_action,
    legal_actions,
    mask_of,
    new_chain,
    seat_view,
)
from rami_kit.errors import RamiError, to_status
from support.game_tables import EMPTY, TIMES, Table, lively, snapshot_message, table_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from game_state.repository import RoomRepository
    from game_state.room import RoomOptions

PEOPLE = ("ann", "bob", "cid", "dot", "eve")
NOT_PLAYERS = (
    event_pb2.ACTION_SOURCE_BOT,
    event_pb2.ACTION_SOURCE_AUTOPILOT,
    event_pb2.ACTION_SOURCE_FALLBACK,
)
OTHER_CHAIN = new_chain(bytes(range(100, 132)))

# A walk that follows from a number is no simpler for a smaller number: nothing is gained by shrinking.
thorough = settings(deadline=None, max_examples=40, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def options() -> st.SearchStrategy[RoomOptions]:
    return st.builds(
        lambda rules, public, watched, limit, pace, interval, auto: table_options(
            rules=rules,
            public=public,
            spectators_allowed=watched,
            turn_limit_ms=limit,
            bot_pace_ms=pace,
            round_interval_ms=interval,
            auto_start=auto,
        ),
        st.builds(RuleOptions, st.integers(1, 150), st.booleans(), st.booleans()),
        st.booleans(),
        st.booleans(),
        st.sampled_from([0, 1, 60_000]),
        st.sampled_from([None, 0, 30_000]),
        st.sampled_from([0, 5_000]),
        st.booleans(),
    )


@st.composite
def tables(draw: st.DrawFn, *, begun: bool = False) -> Iterator[Table]:
    """A new table and a walk over all its later states; `begun` ones are in their match from the start."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    holders = st.sampled_from([EMPTY, "bot:easy", "bot:hard", *PEOPLE[1:]])
    others = draw(st.lists(holders, min_size=1, max_size=3, unique_by=lambda h: h if h in PEOPLE else object()))
    if begun:
        others = [holder or "bot:normal" for holder in others]
    table = Table(
        ["ann", *others],
        options=draw(options()),
        guards=Guards(draw(st.integers(3, 60)), draw(st.integers(5, 150))),
        match_id=draw(st.sampled_from([b"", bytes(16)])) if EMPTY not in others else b"",
        join_code="ABC123",
    )
    if begun:
        table.room.host = "ann"
        if table.status() == Status.LOBBY:
            table.start("ann")
    return walk(table, chance, draw(st.integers(0, 120)))


def walk(table: Table, chance: random.Random, steps: int) -> Iterator[Table]:
    yield table
    for _ in range(steps):
        if table.status() == Status.CLOSED:
            return
        version = table.room.version
        try:
            happen(table, chance)
        except (RamiError, RulesError):
            assert table.room.version == version
        if table.room.version != version:
            yield table


def happen(table: Table, chance: random.Random) -> None:
    """Something that may happen at a table, mostly play once there is some."""
    if table.room.turn_seat() is not None and chance.random() < 0.85:
        holder = table.room.seats[table.turn]
        action = lively(table.legal(), chance)
        if holder.player_id and chance.random() < 0.7:
            table.play(holder.player_id, action)
        else:
            table.play_seat(action, chance.choice(NOT_PLAYERS))
        return
    player = chance.choice(PEOPLE)
    match chance.randrange(8):
        case 0:
            table.join(player, chance.choice([None, 0, 1, 2]), with_code=chance.random() < 0.5)
        case 1 if chance.random() < 0.3:
            table.leave(player)
        case 2:
            table.bots(table.room.host, {chance.randrange(len(table.room.seats)): chance.choice(["", "easy", "hard"])})
        case 3:
            table.entropy(player, chance.randbytes(chance.randint(1, 32)))
        case 4:
            table.start(table.room.host)
        case 5:
            table.wait(chance.choice([1, 700, 5_000, 60_000]))
            table.tick()
        case 6 if chance.random() < 0.05:
            table.wait(TIMES.match_ttl_ms)
            table.tick()
        case _:
            table.wait(100)


def stored_and_read(room: Room) -> Room:
    return decode_room(room.room_id, room_header(room) + encode_room(room))


@thorough
@given(tables())
def test_a_stored_room_is_read_as_it_was(steps: Iterator[Table]) -> None:
    for table in steps:
        assert stored_and_read(table.room) == table.room


@thorough
@given(tables())
def test_a_copy_is_equal_and_shares_nothing_that_changes(steps: Iterator[Table]) -> None:
    for table in steps:
        room = table.room
        copied = room.copy()
        assert copied == room
        before = encode_room(room)
        copied.seats[0] = replace(copied.seats[0], missed=copied.seats[0].missed + 1)
        copied.chain = replace(copied.chain)
        copied.chain.seed(1000)
        copied.seats.pop()
        if copied.match is not None:
            copied.match.scores[0] += 1
            assert copied.match.round is not None
            copied.match.round.hands[0] ^= 1
            copied.match.round.discards.append(0)
        assert encode_room(room) == before


class Viewer:
    """Somebody who follows a room by its events, as streams send them."""

    def __init__(self, player_id: str) -> None:
        self.player_id = player_id
        self.mirror = RoomMirror(player_id=player_id)
        self.seat: int | None = None

    def look(self, room: Room) -> None:
        self.seat = room.seat_of(self.player_id)
        self.mirror.take_snapshot(snapshot_message(room, self.player_id, 0))

    def hear(self, room: Room, step: CommittedStep) -> None:
        if room.seat_of(self.player_id) != self.seat:
            self.look(room)  # another kind of viewer now: streams send a snapshot
        else:
            self.mirror.take_event(event_pb2.Event.FromString(step.encoded(self.seat)))


@thorough
@given(tables())
def test_events_tell_whatever_a_snapshot_would_show(steps: Iterator[Table]) -> None:
    viewers = [Viewer(player_id) for player_id in (*PEOPLE, "stranger")]
    for table in steps:
        room = table.room
        for viewer in viewers:
            if viewer.mirror.version:
                viewer.hear(room, table.log[-1])
            else:
                viewer.look(room)
            shown = room_message(room, viewer.player_id)
            told = viewer.mirror.room
            for message in (shown, told):
                message.ClearField("expire_time")  # moves with every step
            assert told == shown
            snapshot = snapshot_message(room, viewer.player_id, 0)
            for name, kept in (("round_ended", viewer.mirror.round_ended), ("match_ended", viewer.mirror.match_ended)):
                assert (getattr(snapshot, name) if snapshot.HasField(name) else None) == kept  # type: ignore[arg-type]  # one of its fields
            assert viewer.mirror.view == (
                None if room.match is None else seat_view(room.match, room.seat_of(viewer.player_id))
            )


def twin_for(room: Room, viewer: int | None, chance: random.Random) -> Room:
    """The same room but for everything that a viewer may not know: other hands, the stock, every seed."""
    twin = room.copy()
    match = twin.current_match()
    current = match.round
    assert current is not None
    hidden = [seat for seat in range(match.players) if seat != viewer]
    stock = current.deck[current.stock_pos :]
    cards = [card for seat in hidden for card in cards_of(current.hands[seat])] + list(stock)
    chance.shuffle(cards)
    for seat in hidden:
        size = current.hands[seat].bit_count()
        current.hands[seat] = mask_of(cards[:size])
        cards = cards[size:]
    current.deck = current.deck[: current.stock_pos] + bytes(cards)
    chain = OTHER_CHAIN
    twin.chain = SeedChain(chain.root, chain.checkpoint, chain.checkpoint_round)
    return twin


def seen(room: Room, player_id: str) -> list[bytes]:
    """Everything that can be read of a room by a player."""
    seat = room.seat_of(player_id)
    messages = [room_message(room, player_id), snapshot_message(room, player_id, 0)]
    read = [message.SerializeToString(deterministic=True) for message in messages]
    if seat is not None and room.turn_seat() == seat:
        read.append(encoded_legal_actions(room, seat))
        read.append(decision_request(room, seat, legal_actions(room.current_match(), seat), "easy", 7))
    return read


def refused_to(room: Room, player_id: str) -> list[bytes]:
    """What becomes of every card that a player could ask to discard, to meld with its neighbours or to lay off."""
    statuses = []
    asked = [discard_action(card) for card in range(52)]
    asked += [Action(ActionKind.MELD, 0b111 << card) for card in range(50)]
    asked += [Action(ActionKind.LAY_OFF, 1 << card, 1) for card in range(52)]
    for action in asked:
        table = Table(["ann", "bob"])
        table.room = room
        try:
            table.change(lambda draft: play_for_player(draft, player_id, room.version, action))  # noqa: B023
        except RamiError as error:
            statuses.append(to_status(error).SerializeToString(deterministic=True))
        else:
            statuses.append(b"")
    return statuses


@thorough
@given(tables(begun=True), st.integers(0, 2**32))
def test_v1_rooms_that_differ_in_hidden_cards_look_the_same(steps: Iterator[Table], seed: int) -> None:
    chance = random.Random(seed)
    for table in steps:
        room = table.room
        if room.turn_seat() is None or chance.random() < 0.8:
            continue
        players = [seat.player_id for seat in room.seats if seat.player_id]
        for player_id in (*players, "stranger"):
            viewer = room.seat_of(player_id)
            twin = twin_for(room, viewer, chance)
            assert seen(twin, player_id) == seen(room, player_id)
            assert dealt_to(twin, viewer) == dealt_to(room, viewer)
            if viewer is not None and chance.random() < 0.1:
                assert refused_to(twin, player_id) == refused_to(room, player_id)
            if viewer != room.turn_seat() and room.current_match().phase == 1:
                assert drawn(twin, viewer) == drawn(room, viewer)


class OnlyLog:
    """The log of a room, for who reads nothing else."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = list(enumerate(steps, 1))

    async def log(self, _room_id: str, first: int, last: int, most: int) -> list[tuple[int, Step]]:
        return self._steps[first - 1 : last][:most]


def with_other_cards(steps: list[CommittedStep], chance: random.Random) -> list[Step]:
    """The same log but for what nobody may know before the round is over: what was dealt and drawn in the last one."""
    changed = [Step.from_bytes(committed.step.to_bytes()) for committed in steps]
    for step in reversed(changed):
        for place, change in reversed(list(enumerate(step.changes))):
            if isinstance(change, Played) and change.hides_card:
                step.changes[place] = change._replace(drawn=chance.randrange(52))
            elif isinstance(change, Dealt):
                hands = [mask_of(chance.sample(range(52), hand.bit_count())) for hand in change.hands]
                step.changes[place] = change._replace(hands=tuple(hands))
                return changed
    return changed


@thorough
@given(tables(begun=True), st.integers(0, 2**32))
def test_v1_a_replay_before_the_end_is_the_same_whatever_is_hidden(steps: Iterator[Table], seed: int) -> None:
    chance = random.Random(seed)
    table = list(steps)[-1]
    room = table.room
    if room.turn_seat() is None:
        return

    def replay(of: Room, log: list[Step]) -> bytes:
        page = asyncio.run(replay_page(cast("RoomRepository", OnlyLog(log)), of, 100, ""))
        assert page.rounds
        return page.SerializeToString(deterministic=True)

    log = [committed.step for committed in table.log]
    assert replay(twin_for(room, None, chance), with_other_cards(table.log, chance)) == replay(room, log)


def dealt_to(room: Room, viewer: int | None) -> bytes:
    """The event of dealing the hands that are held."""
    current = room.current_match().round
    assert current is not None
    dealt = Dealt(current.number, tuple(current.hands), up_card=51)
    step = Step(bytes(8), time_ms=1, changes=[dealt], turn=None, phase=0)
    return CommittedStep(5, bytes(8), step).encoded(viewer)


def drawn(room: Room, viewer: int | None) -> bytes:
    """The event of a draw from the stock by the seat to move, unless it ends the round."""
    table = Table(["ann", "bob"])
    table.room = room
    seat = table.turn
    if not table.round.stock_count:
        return b""
    draw = next(action for action in table.legal() if action.kind == ActionKind.DRAW_STOCK)
    table.change(lambda draft: play(draft, seat, draw, event_pb2.ACTION_SOURCE_PLAYER))
    return table.log[-1].encoded(viewer)


@thorough
@given(tables(begun=True))
def test_steps_show_drawn_cards_and_hands_to_their_seat_alone(steps: Iterator[Table]) -> None:
    table = list(steps)[-1]
    viewers: list[int | None] = [None, *range(len(table.room.seats))]
    for step in table.log:
        events = {viewer: event_pb2.Event.FromString(step.encoded(viewer)) for viewer in viewers}
        secret = False
        for place, change in enumerate(step.step.changes):
            if isinstance(change, Dealt):
                secret = True
                for viewer in viewers:
                    hand = events[viewer].changes[place].round_started.hand
                    expected = [] if viewer is None else [card + 1 for card in cards_of(change.hands[viewer])]
                    assert list(hand) == expected
            elif isinstance(change, Played):
                seat, action, _, card = change
                own = action.kind == ActionKind.DRAW_STOCK and card is not None
                secret = secret or own
                for viewer in viewers:
                    played = events[viewer].changes[place].action_played
                    public = action.kind == ActionKind.DRAW_DISCARD
                    assert played.HasField("drawn") == (card is not None and (public or viewer == seat))
        if not secret:
            assert len({step.encoded(viewer) for viewer in viewers}) == 1
