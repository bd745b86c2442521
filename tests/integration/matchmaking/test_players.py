"""PlayerService over a real channel: guests, ratings, the leaderboard, and every refusal."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import jwt.algorithms
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from matchmaking.config import MatchmakingSettings
from matchmaking.player_store import PlayerStore
from matchmaking.ratings import RatedSeat
from matchmaking.service import build
from rami.matchmaking.v1 import matchmaking_service_pb2, player_service_pb2
from rami_kit import keys
from rami_kit.testing import bearer, channel_to, make_settings, player_token, running_app
from support.queueing import TIMEOUT, Client, Player, refusal, running_replica, store_client

if TYPE_CHECKING:
    from pathlib import Path

    from support.queueing import Replica

AWAY = "127.0.0.1:1"
EVE = Player("eve")


async def guest(client: Client, name: str) -> player_service_pb2.CreateGuestResponse:
    request = player_service_pb2.CreateGuestRequest(display_name=name)
    return await client.players.CreateGuest(request, timeout=TIMEOUT)


async def get(client: Client, player_id: str = "") -> player_service_pb2.Player:
    request = player_service_pb2.GetPlayerRequest(player_id=player_id)
    return (await client.players.GetPlayer(request, metadata=EVE.metadata, timeout=TIMEOUT)).player


async def page(client: Client, size: int = 0, token: str = "") -> player_service_pb2.ListLeaderboardResponse:
    request = player_service_pb2.ListLeaderboardRequest(page_size=size, page_token=token)
    return await client.players.ListLeaderboard(request, metadata=EVE.metadata, timeout=TIMEOUT)


def player_store(replica: Replica, size: int = 100_000) -> PlayerStore:
    return PlayerStore(replica.app.require_store(), {"easy": 850.0}, player_days=1, rated_days=2, leaderboard_size=size)


async def rate(players: PlayerStore, winner: str, loser: str) -> None:
    seats = [RatedSeat(winner, winner.title(), 100), RatedSeat(loser, loser.title(), 20)]
    assert await players.rate(f"p0-{uuid4().hex[:16]}", seats, 0, 1)


async def test_a_guest_plays_at_once(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        one, other = await asyncio.gather(guest(replica, "  Ann  "), guest(replica, "Ann"))
        assert one.player_id != other.player_id
        assert await client.keys("*") == []  # a guest costs the store nothing
        assert one.expire_time.seconds > 0
        metadata = bearer(one.token)
        request = player_service_pb2.GetPlayerRequest()
        answer = await replica.players.GetPlayer(request, metadata=metadata, timeout=TIMEOUT)
        assert (answer.player.player_id, answer.player.display_name) == (one.player_id, "Ann")
        assert (answer.player.rating, answer.player.matches) == (1000, 0)
        criteria = matchmaking_service_pb2.TicketCriteria(player_counts=[2])
        queue = matchmaking_service_pb2.CreateTicketRequest(request_id=str(uuid4()), criteria=criteria)
        ticket = (await replica.queue.CreateTicket(queue, metadata=metadata, timeout=TIMEOUT)).ticket
        assert ticket.state == matchmaking_service_pb2.TICKET_STATE_WAITING
        assert replica.sample("guests_total") == 2


@pytest.mark.parametrize(
    "name", ["", "   ", "x" * 33, "tab\there", "bell\a", "line\nbreak", "\u202egnirts", "a\u2028b"]
)
async def test_names_that_cannot_be_shown_are_refused(store_url: str, name: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        assert await refusal(guest(replica, name)) == ("INVALID_REQUEST", {"field": "display_name"})


async def renew(client: Client, token: str, name: str = "") -> player_service_pb2.RenewGuestResponse:
    request = player_service_pb2.RenewGuestRequest(display_name=name)
    return await client.players.RenewGuest(request, metadata=bearer(token), timeout=TIMEOUT)


async def known_as(client: Client, token: str) -> tuple[str, str]:
    """The id and the name that a token speaks for."""
    request = player_service_pb2.GetPlayerRequest()
    player = (await client.players.GetPlayer(request, metadata=bearer(token), timeout=TIMEOUT)).player
    return player.player_id, player.display_name


async def test_a_guest_renews_its_token_and_stays_who_it_is(store_url: str) -> None:
    async with (
        running_replica(store_url, AWAY, guest_token_seconds=600) as replica,
        running_replica(store_url, AWAY, guest_token_seconds=6000) as other,
        store_client(store_url) as client,
    ):
        ann = await guest(replica, "Ann")
        renewed = await renew(other, ann.token)
        assert (renewed.player_id, renewed.display_name) == (ann.player_id, "Ann")
        assert renewed.token != ann.token
        assert renewed.expire_time.seconds > ann.expire_time.seconds + 5000
        assert await known_as(replica, renewed.token) == (ann.player_id, "Ann")
        assert await known_as(replica, ann.token) == (ann.player_id, "Ann"), "the former token counts until its end"
        again = await renew(replica, renewed.token)
        assert again.player_id == ann.player_id
        assert await client.keys("*") == [], "a guest costs the store nothing"


async def test_a_guest_takes_another_name(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        ann = await guest(replica, "Ann")
        renewed = await renew(replica, ann.token, "  Countess  ")
        assert (renewed.player_id, renewed.display_name) == (ann.player_id, "Countess")
        assert await known_as(replica, renewed.token) == (ann.player_id, "Countess")
        assert (await renew(replica, renewed.token)).display_name == "Countess", "an empty name keeps the one it has"
        for name in ("   ", "x" * 33, "line\nbreak"):
            assert await refusal(renew(replica, ann.token, name)) == ("INVALID_REQUEST", {"field": "display_name"})


async def test_who_is_no_guest_renews_nothing_here(store_url: str, tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    public = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    jwks = tmp_path / "jwks.json"
    jwks.write_text(json.dumps({"keys": [public | {"kid": "one", "alg": "EdDSA", "use": "sig"}]}))
    async with running_replica(store_url, AWAY, jwt_jwks_file=str(jwks)) as replica:
        claims = {"iss": "https://id.example.com", "sub": "guest-of-somebody-else", "exp": int(time.time()) + 600}
        provided = jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": "one"})
        signed_elsewhere = player_token("ann")
        for token in (provided, signed_elsewhere):
            assert await known_as(replica, token)
            assert await refusal(renew(replica, token)) == ("NOT_A_GUEST", {})


async def test_guests_who_renew_again_and_again_are_slowed_down(store_url: str) -> None:
    async with running_replica(
        store_url, AWAY, guest_renewals_per_player=0.001, guest_renewals_per_player_burst=3
    ) as replica:
        ann, bob = await guest(replica, "Ann"), await guest(replica, "Bob")
        tokens = [ann.token]
        for name in ("One", "Two", "Three"):
            tokens.append((await renew(replica, tokens[-1], name)).token)
        for token in tokens:
            limited = await refusal(renew(replica, token, "Four"))
            assert limited == ("RATE_LIMITED", {"limit": "renewals_per_player"}), "it counts for the player"
        assert (await renew(replica, bob.token)).player_id == bob.player_id


async def test_no_guest_is_renewed_where_none_is_allowed(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        ann = await guest(replica, "Ann")
    async with running_replica(store_url, AWAY, guests_allowed=False) as replica:
        assert await known_as(replica, ann.token)
        assert (await refusal(renew(replica, ann.token)))[0] == "GUESTS_DISABLED"


async def test_guests_can_be_turned_off_and_are_by_default(store_url: str) -> None:
    async with running_replica(store_url, AWAY, guests_allowed=False) as replica:
        assert (await refusal(guest(replica, "Ann")))[0] == "GUESTS_DISABLED"
    async with running_replica(store_url, AWAY, guests_allowed=None) as replica:
        assert (await refusal(guest(replica, "Ann")))[0] == "GUESTS_DISABLED"


async def test_guests_are_on_by_default_in_development(store_url: str) -> None:
    settings = make_settings(MatchmakingSettings, store_url, game_address=AWAY, mode="development")
    async with running_app(settings, build, "matchmaking") as app, channel_to(app) as channel:
        assert (await guest(Client(channel), "Ann")).token


async def test_guests_need_a_key_of_ours(store_url: str, tmp_path: Path) -> None:
    """Where players come from an identity provider alone, there is nothing to sign a guest's token with."""
    public = jwt.algorithms.OKPAlgorithm.to_jwk(Ed25519PrivateKey.generate().public_key(), as_dict=True)
    jwks = tmp_path / "jwks.json"
    jwks.write_text(json.dumps({"keys": [public | {"kid": "one", "alg": "EdDSA", "use": "sig"}]}))
    settings = make_settings(
        MatchmakingSettings,
        store_url,
        game_address=AWAY,
        jwt_secret=None,
        jwt_jwks_file=str(jwks),
        guests_allowed=True,
    )
    async with running_app(settings, build, "matchmaking") as app, channel_to(app) as channel:
        assert (await refusal(guest(Client(channel), "Ann")))[0] == "GUESTS_DISABLED"


async def test_a_player_is_known_to_himself_and_after_a_match_to_others(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        me = await get(replica)
        assert (me.player_id, me.display_name, me.rating) == (EVE.player_id, "Eve", 1000)
        assert me.rating_deviation == pytest.approx(250)
        for unknown in ("nobody", Player("ann").player_id, "bot:grandmaster", "x" * 4000, "a{b}c\n", "höh"):
            assert (await refusal(get(replica, unknown)))[0] == "PLAYER_NOT_FOUND"
        await rate(player_store(replica), "ann", "bob")
        assert (await get(replica, "ann")).wins == 1


async def test_methods_of_ratings_need_a_player(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        for call in (
            replica.players.GetPlayer(player_service_pb2.GetPlayerRequest(), timeout=TIMEOUT),
            replica.players.ListLeaderboard(player_service_pb2.ListLeaderboardRequest(), timeout=TIMEOUT),
        ):
            assert (await refusal(call))[0] == "TOKEN_MISSING"


async def test_the_leaderboard_pages_best_first(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        assert list((await page(replica)).players) == []
        players = player_store(replica)
        names = [f"player-{number:02}" for number in range(25)]
        for better, worse in itertools.pairwise(names):
            await rate(players, better, worse)
        await rate(players, "player-00", "bot:easy")
        whole = await page(replica, 100)
        assert len(whole.players) == 26
        assert whole.next_page_token == ""
        assert [row.rank for row in whole.players] == list(range(1, 27))
        ratings = [row.player.rating for row in whole.players]
        assert ratings == sorted(ratings, reverse=True)
        assert whole.players[0].player.player_id == "player-00"
        assert [row.player.bot for row in whole.players].count(True) == 1

        paged: list[player_service_pb2.RankedPlayer] = []
        token = ""
        while True:
            part = await page(replica, 10, token)
            assert len(part.players) <= 10
            paged += part.players
            token = part.next_page_token
            if not token:
                break
        assert paged == list(whole.players)
        assert len((await page(replica)).players) == 20


async def test_the_leaderboard_holds_the_best_alone_and_skips_who_has_gone(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        players = player_store(replica, size=3)
        for better, worse in (("ann", "bob"), ("ann", "cid"), ("cid", "dan")):
            await rate(players, better, worse)
        assert await client.zcard(keys.leaderboard_key()) == 3
        await client.delete(keys.player_key("cid"))
        rows = (await page(replica)).players
        assert "cid" not in {row.player.player_id for row in rows}
        assert [row.rank for row in rows] == sorted({row.rank for row in rows})


async def test_the_leaderboard_has_a_next_page_also_behind_places_of_those_who_have_gone(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        players = player_store(replica)
        for better, worse in (("ann", "bob"), ("ann", "cid"), ("bob", "cid"), ("cid", "dan")):
            await rate(players, better, worse)
        order = [row.player.player_id for row in (await page(replica)).players]
        assert len(order) == 4
        await client.delete(*(keys.player_key(one) for one in order[1:3]))
        seen, token, pages = [], "", 0
        while pages == 0 or token:
            answer = await page(replica, 1, token)
            seen += [(row.rank, row.player.player_id) for row in answer.players]
            token, pages = answer.next_page_token, pages + 1
        assert seen == [(1, order[0]), (4, order[3])]
        assert pages == 4


@pytest.mark.parametrize(
    ("size", "token", "field"),
    [(101, "", "page_size"), (-1, "", "page_size"), (0, "nonsense!", "page_token"), (0, "AAAA", "page_token")],
)
async def test_pages_that_do_not_exist_are_refused(store_url: str, size: int, token: str, field: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        assert await refusal(page(replica, size, token)) == ("INVALID_REQUEST", {"field": field})


async def test_a_page_beyond_the_end_is_empty(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        answer = await page(replica, 10, "_____w==")
        assert (list(answer.players), answer.next_page_token) == ([], "")


async def around(client: Client, who: Player, size: int) -> player_service_pb2.ListLeaderboardResponse:
    request = player_service_pb2.ListLeaderboardRequest(page_size=size, around_me=True)
    return await client.players.ListLeaderboard(request, metadata=who.metadata, timeout=TIMEOUT)


async def test_the_leaderboard_shows_the_own_rank_and_who_is_around(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica:
        players = player_store(replica)
        ranked = [Player(f"player-{number}") for number in range(9)]
        for better, worse in itertools.pairwise(ranked):
            await rate(players, better.player_id, worse.player_id)
        whole = await page(replica, 100)
        order = [row.player.player_id for row in whole.players]
        assert not whole.HasField("own")  # of somebody without a match
        for who in ranked:
            rank = order.index(who.player_id) + 1
            near = await around(replica, who, 5)
            assert (near.own.rank, near.own.player.player_id) == (rank, who.player_id)
            begin = max(1, rank - 2)
            assert [row.rank for row in near.players] == list(range(begin, min(begin + 5, 10)))
            assert who.player_id in [row.player.player_id for row in near.players]
            request = player_service_pb2.GetPlayerRequest()
            answer = await replica.players.GetPlayer(request, metadata=who.metadata, timeout=TIMEOUT)
            assert answer.rank == rank
        # The next page goes on where this one ends; a stranger begins at the top.
        first = await around(replica, ranked[0], 2)
        following = await page(replica, 2, first.next_page_token)
        assert following.players[0].rank == first.players[-1].rank + 1
        assert [row.rank for row in (await around(replica, EVE, 2)).players] == [1, 2]
        both = player_service_pb2.ListLeaderboardRequest(page_token=first.next_page_token, around_me=True)
        call = replica.players.ListLeaderboard(both, metadata=EVE.metadata, timeout=TIMEOUT)
        assert await refusal(call) == ("INVALID_REQUEST", {"field": "around_me"})
