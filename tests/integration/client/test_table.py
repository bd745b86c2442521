"""A table over a real stream: it stays current and plays through whatever happens to the stream."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from rami.game.v1 import event_pb2
from rami.game.v1 import game_service_pb2 as game
from rami_client import (
    ActionRefusedError,
    BadChoiceError,
    Bot,
    Client,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    Receipt,
    RetryPolicy,
    RewoundError,
    StaleVersionError,
    SupersededError,
    Table,
    TableEndedError,
    UnauthenticatedError,
    UnavailableError,
    Update,
    play_match,
    verify,
)
from rami_engine import (
    DRAW_STOCK,
    Action,
    ActionKind,
    Reason,
    discard_action,
    fallback_action,
    legal_actions,
    seat_view,
)
from support.fake_game import FakeGame
from support.statuses import status_of
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami_engine import SeatView
    from support.fake_room import FakeRoom

FAST = RetryPolicy(first_backoff_seconds=0.01, max_backoff_seconds=0.05)


class FallbackBot(Bot):
    """Plays what the engine plays for those who are away."""

    def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:  # noqa: ARG002 - the view suffices
        return fallback_action(view)


@asynccontextmanager
async def playing(
    names: list[str], *, receipt: Receipt | None = None, retry: RetryPolicy = FAST
) -> AsyncIterator[tuple[FakeGame, FakeRoom, Client, Table]]:
    """A server, a room whose match has started, and the table of the first player in it."""
    async with FakeGame() as server:
        room = server.add_room(names)
        client = Client.connect(game=server.target, token=names[0], retry=retry)
        async with client, client.table(room.room_id, seat=0, receipt=receipt) as table:
            await eventually(lambda: bool(room.entropies[0]), "entropy is brought")
            room.start()
            await eventually(lambda: table.version == room.version, "the start is seen")
            yield server, room, client, table


def the_view(room: FakeRoom) -> SeatView:
    assert room.match is not None
    return seat_view(room.match, 0)


async def test_a_whole_match_is_played_and_verified() -> None:
    receipt = Receipt()
    async with playing(["ann", "", ""], receipt=receipt) as (_, room, client, table):
        result = await play_match(table, FallbackBot())
        assert result == room.message().result
        assert table.over
        assert table.view == the_view(room)
        assert table.room == room.message()
        replay = await client.replay(room.room_id)
        assert len(replay.rounds) == len(room.rounds)
        assert verify(replay, receipt).sightings == room.version


async def test_what_is_left_of_a_turn_is_counted_by_the_clock_of_the_store() -> None:
    async with playing(["ann", "bob"]) as (_, room, client, table):
        assert table.seconds_left is None, "there is no limit"
        room.turn_seconds = 3600
        room.late_seconds = 2700
        # The store's clock is years behind this machine's, and the turn is three quarters over.
        async with client.watch(room.room_id) as watching:
            assert watching.clock_offset_seconds < -1_000_000
            assert watching.seconds_left is not None
            assert 800 < watching.seconds_left <= 900
        room.late_seconds = 3601
        async with client.watch(room.room_id) as watching:
            assert watching.seconds_left == 0.0


async def test_the_entropy_is_random_and_comes_after_the_commitment() -> None:
    entropies = set()
    for _ in range(2):
        async with playing(["ann", "bob"]) as (server, room, _, _):
            (request,) = server.requests("SetEntropy")
            assert isinstance(request, game.SetEntropyRequest)
            assert len(request.entropy) == 32
            assert [name for name, _ in server.calls[:2]] == ["Play", "SetEntropy"]
            entropies.add(room.entropies[0])
    assert len(entropies) == 2


async def test_an_uncertain_entropy_is_sent_again_with_the_same_request() -> None:
    async with FakeGame() as server:
        room = server.add_room(["ann", "bob"])
        server.failures = [("SetEntropy", status_of("STORE_UNAVAILABLE", retry_after_seconds=0.01))] * 3
        retry = RetryPolicy(attempts=2, first_backoff_seconds=0.01, max_backoff_seconds=0.02)
        async with (
            Client.connect(game=server.target, token="ann", retry=retry) as client,
            client.table(room.room_id, seat=0),
        ):
            # No news of the lobby comes meanwhile: the table goes on by itself when the call has given up.
            await eventually(lambda: bool(room.entropies[0]), "entropy is brought")
        first, *others = server.requests("SetEntropy")
        assert len(others) == 3
        assert all(request == first for request in others)


async def test_entropy_that_another_client_has_brought_is_not_in_the_receipt() -> None:
    receipt = Receipt()
    async with FakeGame() as server:
        room = server.add_room(["ann", "bob"])
        room.bring_entropy(0, b"brought before")
        async with (
            Client.connect(game=server.target, token="ann") as client,
            client.table(room.room_id, seat=0, receipt=receipt),
        ):
            await eventually(lambda: bool(server.requests("SetEntropy")), "it is tried")
            await eventually(lambda: receipt.entropy is None, "it is withdrawn")
        assert room.entropies[0] == b"brought before"


async def test_an_action_is_answered_with_its_version_and_seen_in_the_view() -> None:
    async with playing(["ann", "bob"]) as (_, room, _, table):
        version = await table.act(table.legal_actions[0])
        assert version == room.version == table.version
        assert table.view == the_view(room)


async def test_every_refusal_is_typed_and_the_stream_goes_on() -> None:
    async with playing(["ann", "bob"]) as (server, room, _, table):
        hand = the_view(room).hand
        with pytest.raises(ActionRefusedError) as refused:
            await table.act(discard_action(hand.bit_length() - 1))
        assert refused.value.rules_reason is Reason.WRONG_PHASE
        with pytest.raises(StaleVersionError) as stale:
            await table.act(table.legal_actions[0], expected_version=1)
        assert stale.value.current_version == room.version
        with pytest.raises(InvalidArgumentError) as malformed:
            await table.act(Action(ActionKind.MELD, 0))
        assert malformed.value.field_violations[0].field == "action.meld.cards"
        assert await table.act(table.legal_actions[0]) == room.version
        assert len(server.requests("Play")) == 1


@pytest.mark.parametrize("fault", ["lose_actions", "lose_answers"])
async def test_an_action_on_a_breaking_stream_is_played_exactly_once(fault: str) -> None:
    async with playing(["ann", "bob"]) as (server, room, _, table):
        before = room.version
        setattr(server, fault, 1)
        version = await table.act(table.legal_actions[0])
        assert version == room.version == before + 1
        first, second = server.requests("action")
        assert first == second
        assert table.view == the_view(room)
        assert table.sent_again == 1


@pytest.mark.parametrize("lapses", [[False], [True], [False, True, False]])
async def test_an_action_that_the_store_had_no_time_for_is_asked_again_and_played_once(lapses: list[bool]) -> None:
    async with playing(["ann", "bob"]) as (server, room, _, table):
        before = room.version
        server.store_lapses = list(lapses)
        assert await table.act(table.legal_actions[0]) == room.version == before + 1
        first, *others = server.requests("action")
        assert all(other == first for other in others)
        assert table.sent_again == len(others) == len(lapses)
        assert len(server.requests("Play")) == 1


async def test_a_store_that_stays_away_is_told_and_the_table_goes_on() -> None:
    retry = RetryPolicy(first_backoff_seconds=0.01, max_backoff_seconds=0.02, give_up_after_seconds=0.1)
    async with playing(["ann", "bob"], retry=retry) as (server, room, _, table):
        server.store_lapses = [False] * 1_000
        with pytest.raises(UnavailableError) as caught:
            await table.act(table.legal_actions[0])
        assert caught.value.reason == "STORE_UNAVAILABLE"
        server.store_lapses.clear()
        assert await table.act(table.legal_actions[0]) == room.version


async def test_nothing_is_asked_again_of_a_table_that_was_closed() -> None:
    slow = RetryPolicy(first_backoff_seconds=60, max_backoff_seconds=60)
    async with playing(["ann", "bob"], retry=slow) as (server, _, _, table):
        server.store_lapses = [False]
        pending = asyncio.create_task(table.act(table.legal_actions[0]))
        await eventually(lambda: not server.store_lapses, "the action is answered")
        await table.close()
        with pytest.raises(TableEndedError):
            await pending
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("repeat ")]


async def test_a_gap_is_filled_by_resuming_with_the_cursor() -> None:
    async with playing(["ann", "bob"]) as (server, room, _, table):
        held = table.version
        updates = table.updates()
        room.holds.add(held + 1)
        room.play(0, fallback_action(the_view(room)), event_pb2.ACTION_SOURCE_PLAYER)
        room.play(0, fallback_action(the_view(room)), event_pb2.ACTION_SOURCE_PLAYER)
        await eventually(lambda: table.version == room.version, "the gap is filled")
        hello = server.requests("Play")[1]
        assert isinstance(hello, game.PlayHello)
        assert hello.cursor == room.cursor(held)
        seen = [await anext(updates) for _ in range(2)]
        assert [(update.version, update.snapshot) for update in seen] == [(held + 1, False), (held + 2, False)]


async def test_nothing_is_lost_or_doubled_over_many_broken_streams() -> None:
    receipt = Receipt()
    async with playing(["ann", "", ""], receipt=receipt) as (server, room, client, table):
        finished = asyncio.create_task(play_match(table, FallbackBot()))
        for version in range(room.version, 1_000, 6):
            await eventually(lambda version=version: table.version > version or finished.done(), "play goes on")  # type: ignore[misc]
            server.break_streams()
            if finished.done():
                break
        assert await finished is not None
        assert len(server.requests("Play")) > 2
        versions = [sighting.version for sighting in receipt.sightings if not sighting.snapshot]
        assert versions == list(range(2, room.version + 1))
        assert verify(await client.replay(room.room_id), receipt).sightings is not None


async def test_a_rewind_is_told_and_nothing_is_sent_again() -> None:
    async with playing(["ann", "bob"]) as (server, room, _, table):
        past = room.version
        await table.act(table.legal_actions[0])
        server.lose_actions = 1
        server.on_lost = lambda: room.rewind(past)
        updates = table.updates()
        with pytest.raises(RewoundError):
            await table.act(table.legal_actions[-1])
        update = await anext(updates)
        assert update.rewound
        assert update.version == past == table.version
        assert table.view == the_view(room)
        assert len(server.requests("action")) == 2
        await table.act(table.legal_actions[0])
        assert table.version == room.version == past + 1


async def test_an_event_of_another_past_brings_a_snapshot() -> None:
    async with playing(["ann", "bob"]) as (server, room, client, _):
        async with client.watch(room.room_id) as watch:
            updates = watch.updates()
            step = room.steps[-1]
            watch.believe(room.event(step, 0))  # what is held already
            foreign = room.event(step, 0)
            foreign.cursor = b"another past"
            past = room.version
            room.play(*_next(room), event_pb2.ACTION_SOURCE_PLAYER)
            await eventually(lambda: watch.version == room.version, "the step is seen")
            room.rewind(past)
            room.play(*_next(room), event_pb2.ACTION_SOURCE_PLAYER)
            watch.believe(room.event(room.steps[-1], 0))
            seen = [await anext(updates), await anext(updates)]
            assert [update.rewound for update in seen] == [False, True]
            assert watch.version == room.version
            assert watch.view == the_view(room)
            before = len(server.requests("WatchRoom"))
            watch.believe(foreign)  # older than what is held: nothing can be said of it
            ahead = room.event(room.steps[-1], 0)
            ahead.version += 5
            watch.believe(ahead)  # what lies between comes by the stream
            assert watch.version == room.version
            assert len(server.requests("WatchRoom")) == before
        assert watch.error is None


async def test_a_newer_table_of_the_same_seat_supersedes_the_older() -> None:
    async with playing(["ann", "bob"]) as (server, room, client, table):
        waiting = asyncio.create_task(_last_update(table))
        async with client.table(room.room_id, seat=0) as newer:
            await eventually(lambda: table.ended, "the older table ends")
            assert isinstance(table.error, SupersededError)
            with pytest.raises(SupersededError):
                await waiting
            with pytest.raises(SupersededError):
                await table.act(newer.legal_actions[0])
            with pytest.raises(SupersededError):
                await table.wait_for_turn()
            assert await newer.act(newer.legal_actions[0]) == room.version
        assert len(server.requests("Play")) == 2


async def _last_update(table: Table) -> Update | None:
    last = None
    async for update in table:
        last = update
    return last


async def test_the_table_ends_well_with_its_room() -> None:
    async with playing(["ann", "bob"]) as (_, room, _, table):
        waiting = asyncio.create_task(_last_update(table))
        await asyncio.sleep(0)
        room.close()
        last = await waiting
        assert last is not None
        assert last.version == room.version
        assert table.ended
        assert table.error is None
        assert await table.wait_for_turn() is False
        with pytest.raises(TableEndedError):
            await table.act(DRAW_STOCK)


@pytest.mark.parametrize(
    ("reason", "family"),
    [("TOKEN_EXPIRED", UnauthenticatedError), ("ROOM_NOT_FOUND", NotFoundError)],
)
async def test_what_does_not_pass_ends_the_table(reason: str, family: type[Exception]) -> None:
    async with playing(["ann", "bob"]) as (server, _, _, table):
        server.break_streams(status_of(reason))
        await eventually(lambda: table.ended, "the table ends")
        assert isinstance(table.error, family)
        assert len(server.requests("Play")) == 1


async def test_a_table_without_a_seat_is_refused_at_the_door() -> None:
    async with FakeGame() as server:
        room = server.add_room(["ann", "bob"])
        async with Client.connect(game=server.target, token="eve") as client:
            with pytest.raises(PermissionDeniedError):
                async with client.table(room.room_id):
                    pass
        assert server.streams == 0


async def test_a_server_that_stays_away_is_given_up() -> None:
    retry = RetryPolicy(first_backoff_seconds=0.01, max_backoff_seconds=0.02, give_up_after_seconds=0.1)
    async with playing(["ann", "bob"], retry=retry) as (server, _, _, table):
        server.failures = [("Play", status_of("SHUTTING_DOWN"))] * 1_000
        pending = asyncio.create_task(table.act(table.legal_actions[0]))
        server.lose_actions = 1
        with pytest.raises(UnavailableError):
            await pending
        assert isinstance(table.error, UnavailableError)


async def test_closing_a_table_leaves_no_stream_behind() -> None:
    async with playing(["ann", "bob"]) as (server, _, _, table):
        pending = asyncio.create_task(_last_update(table))
        await asyncio.sleep(0)
        await table.close()
        assert await pending is None
        await eventually(lambda: server.streams == 0, "the stream ends")
        with pytest.raises(TableEndedError):
            await table.act(DRAW_STOCK)


async def test_a_listener_that_falls_behind_gets_the_latest_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rami_client.follow.LISTENER_LIMIT", 3)
    async with playing(["ann", "bob"]) as (_, room, _, table):
        updates = table.updates()
        for _ in range(5):
            room.play(*_next(room), event_pb2.ACTION_SOURCE_PLAYER)
        await eventually(lambda: table.version == room.version, "all is seen")
        seen = await anext(updates)
        assert seen.snapshot
        assert seen.version > room.version - 3


def _next(room: FakeRoom) -> tuple[int, Action]:
    assert room.match is not None
    assert room.match.round is not None
    seat = room.match.round.turn
    return seat, fallback_action(seat_view(room.match, seat))


async def test_a_seat_that_is_not_known_before_the_match_is_found_by_a_snapshot() -> None:
    async with FakeGame() as server:
        room = server.add_room(["bob", "ann"])
        async with (
            Client.connect(game=server.target, token="ann", retry=FAST) as client,
            client.table(room.room_id) as table,
        ):
            await eventually(lambda: bool(room.entropies[1]), "entropy is brought")
            room.start()
            await eventually(lambda: table.view is not None, "the match is seen")
            view = table.view
            assert view is not None
            assert view.viewer == 1
            assert room.match is not None
            assert view == seat_view(room.match, 1)


async def test_the_servers_list_of_legal_actions_is_the_engines() -> None:
    async with playing(["ann", "bob"]) as (_, room, _, table):
        await table.act(table.legal_actions[0])
        assert room.match is not None
        assert table.legal_actions == legal_actions(room.match, 0)


async def test_a_bot_that_chooses_something_illegal_is_stopped() -> None:
    class Cheat(Bot):
        def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:  # noqa: ARG002 - it cheats
            return discard_action(0)

    async with playing(["ann", "bob"]) as (server, _, _, table):
        with pytest.raises(BadChoiceError, match="discard 2C"):
            await play_match(table, Cheat())
        assert not server.requests("action")


async def test_a_bot_is_asked_again_when_the_room_has_moved_on() -> None:
    async with playing(["ann", ""]) as (_, room, _, table):
        asked = 0
        loop = asyncio.get_running_loop()

        async def let_autopilot_play() -> None:
            room.play(*_next(room), event_pb2.ACTION_SOURCE_AUTOPILOT)

        class Slow(FallbackBot):
            def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:
                nonlocal asked
                asked += 1
                if asked == 1:  # autopilot comes first, in the loop that the room belongs to
                    asyncio.run_coroutine_threadsafe(let_autopilot_play(), loop).result()
                return super().choose(view, legal)

        assert await play_match(table, Slow()) is not None
        assert asked > 1


async def test_an_event_that_makes_no_sense_is_replaced_by_a_snapshot() -> None:
    async with playing(["ann", "bob"]) as (server, room, _, table):
        held = table.version
        nonsense = event_pb2.Change(action_played=event_pb2.ActionPlayed(seat=1))
        room.commit([lambda _: nonsense])
        await eventually(lambda: table.version == held + 1, "a snapshot is taken")
        hello = server.requests("Play")[-1]
        assert isinstance(hello, game.PlayHello)
        assert hello.cursor == b""
        assert table.view == the_view(room)
