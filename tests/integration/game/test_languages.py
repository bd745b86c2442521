"""Errors in the player's language, as the SDK hands them on: from calls, and from actions on Play."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rami_client import ActionRefusedError, Client, NotFoundError
from rami_engine import DISCARDS, DRAW_STOCK
from rami_kit.testing import player_token
from support.game_cluster import room_options

if TYPE_CHECKING:
    from support.game_cluster import Cluster


async def test_errors_come_in_the_language_that_the_client_asks_for(game: Cluster) -> None:
    target = f"127.0.0.1:{game.apps[0].port}"
    async with Client.connect(game=target, token=player_token("ada"), languages="cs-CZ, en;q=0.5") as client:
        with pytest.raises(NotFoundError) as nowhere:
            await client.get_room("p0-aaaaaaaaaaaaaaaa")
        assert nowhere.value.localized_message == "Taková místnost není. Možná už skončila."

        room = await client.create_room(room_options(2), bots={1: "easy"})
        await client.start_match(room.room_id)
        async with client.table(room.room_id) as table:
            await table.wait_for_turn()
            with pytest.raises(ActionRefusedError) as refused:
                await table.act(DISCARDS[0])
            assert refused.value.localized_message == "V této části tahu to nejde."
            await table.act(DRAW_STOCK)


async def test_who_asks_for_no_language_gets_none(game: Cluster) -> None:
    async with Client.connect(game=f"127.0.0.1:{game.apps[0].port}", token=player_token("ada")) as client:
        with pytest.raises(NotFoundError) as nowhere:
            await client.get_room("p0-aaaaaaaaaaaaaaaa")
    assert nowhere.value.localized_message == ""


async def test_bots_are_listed_to_their_last_page(game: Cluster) -> None:
    async with Client.connect(game=f"127.0.0.1:{game.apps[0].port}", token=player_token("ada")) as client:
        assert [profile.bot for profile in await client.list_bots()] == ["easy", "normal", "hard"]
