"""Players: each uses the real SDK over simulated channels, plays to the end, and comes back after any break."""

from __future__ import annotations

import asyncio
import random
from functools import cache
from typing import TYPE_CHECKING

from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import room_pb2
from rami_client.calls import Calls, RetryPolicy, new_request_id
from rami_client.client import Client
from rami_client.errors import (
    ActionRefusedError,
    NotFoundError,
    RamiClientError,
    RewoundError,
    RpcError,
    StaleVersionError,
)
from rami_engine import ActionKind, legal_actions_for
from rami_kit.testing import player_token
from sim.journal import Scribe
from sim.world import EPOCH, Machine
from support.chaos_journal import Seated
from support.chaos_truth import SPECTATOR
from support.game_cluster import id_of

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from rami_client.follow import Follower
    from rami_client.watch import Watch
    from rami_engine import Action
    from sim.journal import Journal
    from sim.site import Site

DEADLINE_SECONDS = 1.5
RETRY = RetryPolicy(attempts=4, first_backoff_seconds=0.02, max_backoff_seconds=0.2, give_up_after_seconds=20.0)
PAUSE_SECONDS = 0.1
_OVER = (room_pb2.ROOM_STATUS_OVER, room_pb2.ROOM_STATUS_CLOSED)


class Player:
    """Somebody with a name and a device."""

    def __init__(self, site: Site, journal: Journal, name: str, *, think_seconds: float) -> None:
        self.name = name
        self.site = site
        self.journal = journal
        self.machine = Machine(name)
        self.chance = random.Random(f"player-{site.seed}-{name}")
        self.think_seconds = think_seconds
        self.room_id = ""
        self.over = False
        """It knows that the match is over."""
        self.gone = False
        """Its room is not there any more."""
        self.out = False
        """A bot plays for it at the moment, as it has asked for."""
        self.trouble = ""
        """What this player met with and nobody may meet with."""
        self.followers: list[Follower] = []
        self._away_until = 0.0
        self._by_calls = False
        self._playing: asyncio.Task[None] | None = None
        self.client = self.machine.context.run(self._connect)
        self._tasks: list[asyncio.Task[None]] = []

    def _connect(self) -> Client:
        scribe = Scribe(self.journal, self.name)
        calls = Calls(_token(self.name), DEADLINE_SECONDS, RETRY)
        self._channels = self.site.channel("game", scribe), self.site.channel("matchmaking", scribe)
        client = Client(*self._channels, calls)  # type: ignore[arg-type]  # as much of a channel as the SDK uses
        client.player_id = id_of(self.name)
        return client

    def begin(self, deed: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something on this player's device, until it is done or `leave`."""
        task = self.site.loop.create_task(deed, name=self.name, context=self.machine.context)
        self._tasks.append(task)
        return task

    async def leave(self) -> None:
        """Put the device away."""
        for task in self._tasks:
            task.cancel()
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        for follower in self.followers:
            await follower.close()
        await self.client.close()

    def sit(self, room_id: str, seat: int = SPECTATOR) -> None:
        """Know one's room and seat."""
        self.room_id = room_id
        self.journal.write(Seated(self.journal.now(), room_id, self.name, seat))

    def say_twice(self, share: float) -> None:
        """Send so many requests twice at once from now on."""
        for channel in self._channels:
            channel.twice = share

    def play(self, *, by_calls: bool) -> None:
        """Play the own seat from now on."""
        self._by_calls = by_calls
        self._playing = self.begin(self._play())

    async def stop_playing(self) -> None:
        """Put the seat's device away."""
        playing, self._playing = self._playing, None
        if playing is not None:
            playing.cancel()
            await asyncio.wait([playing])

    async def _play(self) -> None:
        try:
            await (self.play_by_calls() if self._by_calls else self.play_on_stream())
        except NotFoundError:
            self.gone = True

    async def step_out(self, seconds: float) -> None:
        """Leave the seat to a stand-in for a while, and come back."""
        if self._playing is None or self.over:
            return
        self.out = True
        try:
            room = await self.insist(lambda: self.client.get_room(self.room_id))
            if room.status != room_pb2.ROOM_STATUS_IN_MATCH or self._playing is None:
                self.out = False
                return  # before the match the seat would be anybody's
            await self.stop_playing()
            await self.insist_on("LeaveRoom", game.LeaveRoomRequest(room_id=self.room_id))
            await asyncio.sleep(seconds)
            await self.insist_on("JoinRoom", game.JoinRoomRequest(room_id=self.room_id))
        except NotFoundError:
            self.gone = True
        except RpcError:
            if not self.journal.lost:
                raise
            # The match was lost with its beginning, and the seat with it: its host lets the player in again.
        self.out = False
        self.play(by_calls=self._by_calls)

    async def insist_on(self, method: str, request: Any) -> Any:
        """Ask for a change until there is an answer, always under the same request id."""
        request.request_id = new_request_id()
        client = self.client
        call = getattr(client._game, method, None) or getattr(client._matchmaking, method)
        return await self.insist(lambda: client._calls.unary(call, request))

    async def insist(self, call: Any) -> Any:
        """Make a call again and again, whatever breaks; raises what it is refused with for good."""
        while True:
            try:
                return await call()
            except RpcError as error:
                if error.code.name not in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)

    async def watch(self) -> None:
        """Follow the room as somebody who does not play."""
        while True:
            watch = self.client.watch(self.room_id)
            try:
                await self._follow(watch)
            except NotFoundError:
                self.gone = True
                return
            except RamiClientError:
                await asyncio.sleep(PAUSE_SECONDS)

    async def play_on_stream(self) -> None:
        """Play the own seat on a Play stream."""
        while True:
            table = self.client.table(self.room_id)
            try:
                async with table:
                    self.followers.append(table)
                    while await table.wait_for_turn():
                        await self._think()
                        legal, version = table.legal_actions, table.version
                        if not legal:
                            continue
                        try:
                            await table.act(self._choose(legal), expected_version=version)
                        except (StaleVersionError, RewoundError):
                            continue
                        except ActionRefusedError as refusal:
                            await self._look_again(refusal, table, version)
                    await self._stay(table)
            except NotFoundError:
                raise
            except RamiClientError:
                await asyncio.sleep(PAUSE_SECONDS)

    async def play_by_calls(self) -> None:
        """Play the own seat by single calls, and watch on a stream."""
        while True:
            watch = self.client.watch(self.room_id)
            try:
                async with watch:
                    self.followers.append(watch)
                    while not watch.over and not watch.ended:
                        view, version = watch.view, watch.version
                        legal = legal_actions_for(view) if view is not None and view.turn == watch.seat else ()
                        if not legal:
                            await watch.changed()
                            continue
                        await self._think()
                        if watch.version == version:
                            await self._submit(watch, self._choose(legal), version)
                    await self._stay(watch)
            except NotFoundError:
                raise
            except RamiClientError:
                await asyncio.sleep(PAUSE_SECONDS)

    async def visit(self, seconds: float) -> None:
        """Open the same seat on a second device for a while; the first one learns that it is superseded."""
        if not self.room_id:
            return
        table = self.client.table(self.room_id)
        try:
            async with asyncio.timeout(seconds), table:
                self.followers.append(table)
                while not table.ended:
                    await table.changed()
        except (RamiClientError, TimeoutError):
            return  # the first device has taken over again, perhaps

    async def go_away(self, seconds: float) -> None:
        """Do nothing for a while, at one's turn neither."""
        self._away_until = self.site.loop.now + seconds
        await asyncio.sleep(seconds)

    async def _submit(self, watch: Watch, action: Action, version: int) -> None:
        try:
            await self.client.submit_action(self.room_id, action, expected_version=version, watch=watch)
        except StaleVersionError:
            pass
        except ActionRefusedError as refusal:
            await self._look_again(refusal, watch, version)
        except RpcError as error:
            if error.code.name not in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}:
                raise
        if watch.version <= version:
            # What was done, by whomever, is told on the stream; it may have broken.
            try:
                async with asyncio.timeout(PAUSE_SECONDS * 3):
                    await watch.changed()
            except TimeoutError:
                return

    async def _follow(self, follower: Follower) -> None:
        async with follower:
            self.followers.append(follower)
            while not follower.over and not follower.ended:
                await follower.changed()
            await self._stay(follower)

    async def _stay(self, follower: Follower) -> None:
        """The match is over for this player: keep watching for what else comes, a rewind for example."""
        self.over = follower.room.status in _OVER
        while not follower.ended:
            await follower.changed()
            if not follower.over:
                self.over = False
                return
        if follower.error is not None:
            raise follower.error

    async def _look_again(self, refusal: ActionRefusedError, follower: Follower, version: int) -> None:
        """A legal action was refused: the room must have moved on, or been set back."""
        if refusal.reason not in {"MATCH_OVER", "MATCH_NOT_STARTED", "NOT_YOUR_TURN"} and follower.version == version:
            self.trouble = self.trouble or f"refused {refusal.reason} at version {version}"
        await asyncio.sleep(PAUSE_SECONDS)

    async def _think(self) -> None:
        away = self._away_until - self.site.loop.now
        await asyncio.sleep(max(0.0, away) + self.chance.random() * 2 * self.think_seconds)

    def _choose(self, legal: tuple[Action, ...]) -> Action:
        """Often a meld or lay-off where there is one, else any."""
        laying = [action for action in legal if action.kind in (ActionKind.MELD, ActionKind.LAY_OFF)]
        return self.chance.choice(laying if laying and self.chance.random() < 0.7 else list(legal))


@cache
def _token(name: str) -> str:
    """The same in every run, so that checking it is done but once."""
    return player_token(name, name=name, iat=int(EPOCH), exp=EPOCH + 3600)


__all__ = ["Player"]
