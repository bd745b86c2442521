"""`rami play`, `watch` and `replay` against real services, driven the way a person drives them."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

from rami.game.v1 import room_pb2
from rami.matchmaking.v1 import player_service_pb2 as players
from rami_client import Client
from support.commands import names_in, rami
from support.fake_queue import FakeQueue

if TYPE_CHECKING:
    from pathlib import Path

    from support.cluster import Cluster

PROMPT = "Your move (? help, q quit): "


def choice(output: str) -> str:
    """What to type at the latest prompt: the first of the list, or the first card of the hand where there is none."""
    before = output[: output.rindex(PROMPT)].splitlines()
    if before[-1].startswith("1 ") or before[-2].startswith("1 "):
        return "1"
    hand = next(line for line in reversed(before) if line.startswith("Hand "))
    return hand.split()[1].translate(str.maketrans("♣♦♥♠", "cdhs"))


async def test_a_person_plays_a_match_through_the_edge_and_others_watch_and_read_it(
    whole_cluster: Cluster, tmp_path: Path
) -> None:
    edge = whole_cluster.edge
    assert edge is not None
    targets = ("--game", edge, "--matchmaking", edge)
    play = ("play", *targets, "--seats", "2", "--level", "easy", "--target", "1", "--save", "saved")
    async with rami(*play, folder=tmp_path) as person:
        await person.read_until(PROMPT)
        for typed, answer in (
            ("?", "Type a number of the list"),
            ("99", "there is no number 99"),
            ("nonsense", "is not understood"),
            ("5h 6h 7h", "draw first"),
        ):
            person.type(typed)
            await person.read_until(PROMPT)
            assert answer in person.output
        while "Final standings" not in person.output:
            person.type(choice(person.output))
            await person.read_until(": ", "standings")
        assert await person.finish() == 0
    assert "steps of the receipt, and all agree" in person.output
    (file,) = (tmp_path / "saved").glob("*.replay.json")
    room = file.name.partition(".")[0]

    async with rami("replay", room, *targets, folder=tmp_path) as replay:
        assert await replay.finish() == 0
    assert "Replay verified" in replay.output
    async with rami("watch", "p0-aaaaaaaaaaaaaaaa", *targets, folder=tmp_path) as watch:
        assert await watch.finish() == 1
    assert "ROOM_NOT_FOUND" in watch.output
    async with rami("watch", room, "--game", f"http://{edge}", folder=tmp_path) as late:
        assert await late.finish() == 0
    assert " the match\n" in late.output
    assert "Final standings" in late.output


async def test_a_match_of_bots_is_watched_to_its_end(whole_cluster: Cluster, tmp_path: Path) -> None:
    game, matchmaking = whole_cluster.game, whole_cluster.matchmaking
    async with Client.connect(game=game, matchmaking=matchmaking) as client:
        await client.sign_in_as_guest("Host")
        options = room_pb2.RoomOptions(seats=2, spectators_allowed=True)
        room = await client.create_room(options, bots={0: "easy", 1: "easy"}, observe=True)
        targets = ("--game", game, "--matchmaking", matchmaking)
        async with rami("watch", room.room_id, *targets, folder=tmp_path) as watch:
            await watch.read_until(f"Watching room {room.room_id}.")
            await client.start_match(room.room_id)
            assert await watch.finish() == 0
    assert " the match\nFinal standings" in watch.output
    assert "Easy 1 draws from the stock" in watch.output


async def test_a_match_that_was_interrupted_goes_on_as_the_same_guest(whole_cluster: Cluster, tmp_path: Path) -> None:
    targets = ("--game", whole_cluster.game, "--matchmaking", whole_cluster.matchmaking)
    start = ("play", *targets, "--seats", "2", "--level", "easy", "--target", "1", "--name", "Ada", "--save", "saved")
    async with rami(*start, folder=tmp_path) as person:
        await person.read_until(PROMPT)
        person.type("s")
        await person.read_until(PROMPT)
        person.process.send_signal(signal.SIGINT)
        assert await person.finish() == 130
    assert "can go on later" in person.output
    book = tmp_path / "rami" / "guests.json"
    (guest,) = json.loads(book.read_text())
    assert guest["name"] == "Ada"
    # As if half of the token's life were over.
    book.write_text(json.dumps([guest | {"since": 2 * guest["since"] - guest["expires"] - 60}]))

    async with rami("play", "--save", "saved", folder=tmp_path) as again:
        await again.read_until("q to quit: ")
        assert guest["room"] in again.output
        again.type("7")
        await again.read_until("q to quit: ")
        assert "there is no 7 in the list" in again.output
        again.type("1")
        await again.read_until(PROMPT)
        assert "Starting a table" not in again.output
        while "Final standings" not in again.output:
            again.type(choice(again.output))
            await again.read_until(": ", "standings")
        assert await again.finish() == 0
    assert "Replay verified" in again.output
    (renewed,) = json.loads(book.read_text())
    assert renewed["player_id"] == guest["player_id"]
    assert renewed["since"] >= guest["since"]  # tokens of one second are the same
    assert renewed["room"] == ""


async def test_a_friends_table_is_found_by_its_code_and_the_seat_is_taken_back(
    whole_cluster: Cluster, tmp_path: Path
) -> None:
    targets = ("--game", whole_cluster.game, "--matchmaking", whole_cluster.matchmaking)
    async with Client.connect(game=whole_cluster.game, matchmaking=whole_cluster.matchmaking) as host:
        await host.sign_in_as_guest("Hostess")
        room = await host.create_room(room_pb2.RoomOptions(seats=2))
        async with rami("play", *targets, "--code", room.join_code.lower(), folder=tmp_path) as friend:
            await friend.read_until("q no): ")
            assert "Hostess, (seat 2 is empty)" in friend.output
            friend.type("")
            await friend.read_until("You have seat 2. The host starts the match")
            await host.start_match(room.room_id)
            await friend.read_until("Round 1: ", "Hand ")  # as it starts, or as it stands a moment later
            friend.type("q")
            assert await friend.finish() == 0
        assert "can go on later" in friend.output  # a bot plays on for the friend, and gives the seat back
        assert (await host.get_room(room.room_id)).seats[1].player.stand_in

        async with rami("play", *targets, folder=tmp_path) as back:
            await back.read_until("q to quit: ")
            assert "Hostess, You" in back.output
            back.type("1")
            await back.read_until("Hand ")
            assert not (await host.get_room(room.room_id)).seats[1].player.stand_in
            back.type("q")
            assert await back.finish() == 0


async def test_a_match_to_watch_is_chosen_from_a_list(whole_cluster: Cluster, tmp_path: Path) -> None:
    targets = ("--game", whole_cluster.game, "--matchmaking", whole_cluster.matchmaking)
    async with Client.connect(game=whole_cluster.game, matchmaking=whole_cluster.matchmaking) as host:
        await host.sign_in_as_guest("Hostess")
        options = room_pb2.RoomOptions(seats=2, spectators_allowed=True, visibility=room_pb2.VISIBILITY_PUBLIC)
        room = await host.create_room(options, bots={1: "easy"})
        async with rami("watch", *targets, folder=tmp_path) as watch:
            await watch.read_until("q to quit: ")
            assert room.room_id not in watch.output  # nothing is played yet
            await host.start_match(room.room_id)
            watch.type("")
            await watch.read_until("q to quit: ")
            (line,) = [line for line in watch.output.splitlines() if room.room_id in line]
            assert line.endswith("Hostess, Easy 2")
            watch.type(line.split()[0])
            await watch.read_until(f"Watching room {room.room_id}.")
            await host.leave_room(room.room_id)
            assert await watch.finish() == 0
    assert "The match was abandoned" in watch.output


async def test_the_queue_finds_a_table_of_the_pace_that_was_chosen(whole_cluster: Cluster, tmp_path: Path) -> None:
    targets = ("--game", whole_cluster.game, "--matchmaking", whole_cluster.matchmaking)
    async with rami("play", *targets, "--queue", "--pace", "fast", "--seats", "2", folder=tmp_path) as person:
        await person.read_until(PROMPT)
        assert "Looking for a table" in person.output
        assert "to draw, 20 s a turn" in person.output
        person.type("q")
        assert await person.finish() == 0
    assert "You have left the table." in person.output


async def test_the_player_of_a_token_is_no_guest(whole_cluster: Cluster, tmp_path: Path) -> None:
    async with Client.connect(game=whole_cluster.game, matchmaking=whole_cluster.matchmaking) as elsewhere:
        await elsewhere.sign_in_as_guest("Tove")
        targets = ("--game", whole_cluster.game, "--matchmaking", whole_cluster.matchmaking)
        async with rami("play", *targets, folder=tmp_path, RAMI_TOKEN=elsewhere.token or "") as person:
            await person.read_until(PROMPT)
            person.process.send_signal(signal.SIGINT)
            assert await person.finish() == 130
        assert "can go on later" in person.output
        assert names_in(tmp_path) == []  # no token is kept that somebody else looks after
        (room,) = await elsewhere.list_own_rooms()
        assert room.status == room_pb2.ROOM_STATUS_IN_MATCH
        await elsewhere.leave_room(room.room_id)


async def test_an_edge_with_tls_is_asked_for_everything(tmp_path: Path) -> None:
    queue = FakeQueue()
    url, trust = queue.listen_with_tls(tmp_path)
    async with queue, rami("watch", "--game", url, folder=tmp_path, **trust) as watch:
        assert await watch.finish() == 1
    assert "UNIMPLEMENTED" in watch.output  # rooms, of which this one knows nothing
    (request,) = queue.requests
    assert isinstance(request, players.CreateGuestRequest)


async def test_where_a_match_was_left_and_nobody_answers_another_begins(tmp_path: Path) -> None:
    gone = {"game": "127.0.0.1:1", "matchmaking": "127.0.0.1:1", "name": "Ada", "player_id": "p", "token": "t"}
    (tmp_path / "rami").mkdir()
    left = gone | {"since": 0, "expires": 2**40, "room": "p0-aaaaaaaaaaaaaaaa"}
    (tmp_path / "rami" / "guests.json").write_text(json.dumps([left]))
    async with rami("play", folder=tmp_path) as person:
        await person.read_until("Starting a table")
        assert "There is no answer from 127.0.0.1:1" in person.output
        person.process.send_signal(signal.SIGINT)
        assert await person.finish() == 130


async def test_a_hint_is_shown_and_leaving_ends_the_cluster_that_was_started(tmp_path: Path) -> None:
    async with rami("play", "--hint", folder=tmp_path) as person:
        await person.read_until(PROMPT)
        assert "Hint: " in person.output
        person.type("q")
        assert await person.finish() == 0
        assert "You have left the table." in person.output
        assert person.descendants() == []
    assert names_in(tmp_path) == []
