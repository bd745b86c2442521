"""`rami play`, `watch` and `replay` against real services, driven the way a person drives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami.game.v1 import room_pb2
from rami_client import Client
from support.commands import names_in, rami

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
            await person.read_until(": " if "wins the match" not in person.output else "standings")
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
    async with rami("watch", room, *targets, folder=tmp_path) as late:
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


async def test_a_hint_is_shown_and_leaving_ends_the_cluster_that_was_started(tmp_path: Path) -> None:
    async with rami("play", "--hint", folder=tmp_path) as person:
        await person.read_until(PROMPT)
        assert "Hint: " in person.output
        person.type("q")
        assert await person.finish() == 0
        assert "You have left the table." in person.output
        assert person.descendants() == []
    assert names_in(tmp_path) == []
