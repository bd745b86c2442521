"""What real processes write to their logs and metric pages while all goes well and while it does not: no secrets.

At DEBUG, with people, bots, refusals, bad tokens and rooms whose stored state is damaged. What to look for is taken
from the store and the tokens in use; cards and seeds are looked for in every way of writing that the code knows.
"""

from __future__ import annotations

import base64
import contextlib
import random
import re
import secrets
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
import redis

from game_state.codec import HEADER_BYTES
from game_state.steps import Dealt, Step
from rami.ai.v1 import decision_service_pb2 as ai
from rami.ai.v1.decision_service_pb2_grpc import DecisionServiceStub
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1.game_service_pb2_grpc import GameServiceStub
from rami.matchmaking.v1 import player_service_pb2 as players
from rami.store.v1 import room_state_pb2
from rami_engine import DRAW_STOCK, cards_of, discard_action, seed_for_round
from rami_kit import keys
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET, bearer, service
from rami_wire import action_to_proto
from support.fuzzing import Fuzzer
from support.game_cluster import CALL_SECONDS, Player, refusal, request_id, room_options
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, play_over
from support.queueing import Client
from support.queueing import Player as Queuer
from support.three_services import ThreeServices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CARD = re.compile(r"(?<![A-Za-z0-9_])(?:CARD_)?(?:10|[A2-9TJQK])[CDHS](?![A-Za-z0-9_])")
CARD_NUMBERS = re.compile(r"(?<!\d)\d{1,2}(?:, ?\d{1,2}){2,}(?!\d)")
"""Three numbers or more with commas between them, as a list of cards is printed."""
DAMAGES = 100


def test_what_is_looked_for_would_be_found() -> None:
    for text in ("7H 8H", "CARD_7H", "hand=['TD', 'QC']", "(10C)", "discards AS"):
        assert CARD.search(text), text
    for text in ("[3, 17, 28]", "cards (0,1,2,51)", "Card: 7, 8, 9."):
        assert CARD_NUMBERS.search(text), text
    for text in (
        "2026-11-30T01:19:21.849+00:00",
        "p0-7hks3tdabcdefghi",
        "id(loop)=94562887549440",
        "HTTP/2 200, 3, ok",
    ):
        assert not CARD.search(text), text
        assert not CARD_NUMBERS.search(text), text
    hand = bytes((3, 17, 28, 40))
    for text in (f"{hand!r}", str(list(hand)), hand.hex(), base64.b64encode(hand).decode()):
        assert any(way in text for way in ways_of_writing(hand)), text


def stranger_tokens() -> list[str]:
    """Tokens for which nobody gets in, each of its own making."""
    return [f"{secrets.token_urlsafe(12)}.{secrets.token_urlsafe(60)}.{secrets.token_urlsafe(32)}" for _ in range(3)]


@pytest.fixture
def store_with_password(store_url: str) -> Iterator[tuple[str, str]]:
    """The URL of the store with a password in it, and the password."""
    password = secrets.token_urlsafe(24)
    with redis.Redis.from_url(store_url) as client:
        client.execute_command("ACL", "SETUSER", "rami", "on", f">{password}", "~*", "&*", "+@all")
        yield store_url.replace("redis://", f"redis://rami:{password}@"), password
        client.execute_command("ACL", "DELUSER", "rami")


@pytest.mark.timeout(300)
async def test_v1_neither_logs_nor_metrics_tell_a_secret(
    store_with_password: tuple[str, str], store_url: str, tmp_path: Path
) -> None:
    url, password = store_with_password
    tokens: list[str] = stranger_tokens()
    texts: set[str] = {password, JWT_SECRET, SERVICE_SECRET}
    hidden: set[bytes] = set()
    cards: set[tuple[int, ...]] = set()
    values = {"log_level": "DEBUG", "rate_per_player": 0, "bot_fill_wait_seconds": 0.1, "max_turns_per_round": 60}
    async with ThreeServices(url, tmp_path, **values) as cluster:
        ann, bob, eve = (Player(name, cluster["game"].channel) for name in ("ann", "bob", "eve"))
        tokens += [str(value).removeprefix("Bearer ") for player in (ann, bob, eve) for _, value in player.metadata]
        texts.add(await meet_in_the_lobby(cluster, tokens))
        await knock(cluster, tokens)

        room = await ann.create(room_options(4, public=False, spectators=True, target=100), {1: "easy", 3: "hard"})
        await bob.join_with(room.join_code)
        texts.add(room.join_code)
        entropy = secrets.token_bytes(32)
        hidden.add(entropy)
        await ann.bring(room.room_id, entropy)
        await play_with_mistakes(ann, bob, eve, room.room_id)
        with StoreView(store_url) as store:
            found = [*told_in_the_store(store, room.room_id)]
            hidden |= {secret for secret, _ in found if secret}
            cards |= {hand for _, hand in found if hand}
            await fail_within(cluster, store, ann, hidden, cards)
        pages = [await running.metrics() for running in cluster.services.values()]
    logs = [running.logged() for running in cluster.services.values()]
    assert all('"DEBUG"' in log or '"INFO"' in log for log in logs)
    assert '"ERROR"' in cluster["game"].logged(), "defects were brought about"
    assert "Traceback" in cluster["game"].logged()
    assert len(hidden) > 8
    assert len(cards) > 4

    texts |= {piece for token in tokens for piece in token.split(".") if len(piece) > 30} | set(tokens)
    texts |= {way for secret in hidden for way in ways_of_writing(secret)}
    texts |= {way for hand in cards for way in ways_of_writing(bytes(hand))}
    for page in (*pages, *logs):
        for secret in texts:
            assert secret not in page, f"a secret of {len(secret)} characters stands in {around(page, secret)}"
    for log in logs:
        for pattern in (CARD, CARD_NUMBERS):
            for match in pattern.finditer(log):
                raise AssertionError(f"cards stand in {around(log, match[0])}")
    for page in pages:
        assert not CARD.search(page)


async def meet_in_the_lobby(cluster: ThreeServices, tokens: list[str]) -> str:
    """A guest signs in and is matched; the guest's name at the provider, which nobody else may learn."""
    client = Client(cluster["matchmaking"].channel)
    guest = await client.players.CreateGuest(players.CreateGuestRequest(display_name="Zoe"), timeout=CALL_SECONDS)
    tokens.append(guest.token)
    queuer = Queuer("max")
    tokens += [str(value).removeprefix("Bearer ") for _, value in queuer.metadata]
    await queuer.play(client, (2,), bots_allowed=True)
    subject = base64.urlsafe_b64decode(guest.token.split(".")[1] + "==")
    found = re.search(rb'"sub": ?"([^"]+)"', subject)
    assert found is not None
    return found[1].decode()


async def knock(cluster: ThreeServices, tokens: list[str]) -> None:
    """Tokens that let nobody in, and messages that are none."""
    for name in ("game", "matchmaking"):
        method = {
            "game": "rami.game.v1.GameService/Get{}Room",
            "matchmaking": "rami.matchmaking.v1.PlayerService/Get{}",
        }
        path = "/" + method[name].replace("{}", "" if name == "game" else "Player")
        call: Any = cluster[name].channel.unary_unary(path)
        for token in tokens:
            for metadata in (bearer(token), (("authorization", token),)):
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await call(b"\xff\xff", timeout=CALL_SECONDS, metadata=metadata)
    ours = service("rami-ai")
    tokens += [str(value).removeprefix("Bearer ") for _, value in ours]
    decide = DecisionServiceStub(cluster["ai"].channel).Decide
    with contextlib.suppress(grpc.aio.AioRpcError):
        await decide(ai.DecideRequest(bot="easy"), timeout=CALL_SECONDS, metadata=ours)


async def play_with_mistakes(ann: Player, bob: Player, eve: Player, room_id: str) -> None:
    """A match to its end, with actions between that are refused."""
    chance = random.Random(5)
    watch = Watch(eve, room_id)
    async with PlayStream(ann, room_id) as first, PlayStream(bob, room_id) as second:
        await watch.read()
        await ann.start(room_id)
        while not first.mirror.room.HasField("result"):
            await play_over({0: first, 2: second}, chance, actions=6)
            for card in (3, 40):
                await first.act(discard_action(card))
                await second.act(DRAW_STOCK, key="no uuid")
            for player in (ann, eve):
                refused = await refusal(player.submit(room_id, 1, action_to_proto(discard_action(7))))
                assert refused.reason
    await watch.close()


def told_in_the_store(store: StoreView, room_id: str) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    """The seeds of a room, and all hands that were dealt in it, as bytes or cards."""
    chain = store.room(room_id).chain
    for secret in (chain.root, chain.checkpoint, *(seed_for_round(chain.root, number) for number in range(1, 12))):
        yield secret, ()
    for _, encoded in store.log(room_id):
        for change in Step.from_bytes(encoded).changes:
            if isinstance(change, Dealt):
                for hand in change.hands:
                    yield b"", tuple(cards_of(hand))


async def fail_within(
    cluster: ThreeServices, store: StoreView, ann: Player, hidden: set[bytes], cards: set[tuple[int, ...]]
) -> None:
    """Rooms whose stored state is damaged: looking at one is a defect, which the log tells with its traceback."""
    chance = random.Random(6)
    room = await ann.create(room_options(2, target=500), {1: "easy"})
    await ann.start(room.room_id)
    for secret, hand in told_in_the_store(store, room.room_id):
        hidden |= {secret} if secret else set()
        cards |= {hand} if hand else set()
    name, state = keys.room_key(*store.place(room.room_id)), store.stored(room.room_id)
    assert state is not None
    stub = GameServiceStub(cluster["game"].channel)
    fuzzer = Fuzzer(chance)
    answers: list[tuple[str, str | None]] = []
    for number in range(DAMAGES):
        damaged = bytearray(state[HEADER_BYTES:])
        if number % 4 == 0:
            for _ in range(chance.choice((1, 2, 8))):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        else:  # what can be read, but is no room: it fails further in
            whole = room_state_pb2.RoomState.FromString(bytes(damaged))
            if number % 2:
                whole.match.CopyFrom(fuzzer.distorted(whole.match))
            else:
                whole.CopyFrom(fuzzer.distorted(whole))
            damaged = bytearray(whole.SerializeToString())
        # Another version, or the room in memory would be taken for the one in the store.
        store.client.set(name, chance.randbytes(HEADER_BYTES) + bytes(damaged), ex=60)
        for method, request in looks(stub, room.room_id):
            try:
                await method(request, timeout=CALL_SECONDS, metadata=ann.metadata)
            except grpc.aio.AioRpcError as error:
                answers.append((error.code().name, error.details()))
    store.client.delete(name)
    told = {details for code, details in answers if code == "INTERNAL"}
    assert told == {"internal error"}


def looks(stub: Any, room_id: str) -> list[tuple[Any, Any]]:
    """Calls for which the state of a room is read."""
    submit = pb.SubmitActionRequest(request_id=request_id(), room_id=room_id, action=action_to_proto(DRAW_STOCK))
    return [
        (stub.GetView, pb.GetViewRequest(room_id=room_id)),
        (stub.GetReplay, pb.GetReplayRequest(room_id=room_id)),
        (stub.SubmitAction, submit),
    ]


def ways_of_writing(secret: bytes) -> Iterable[str]:
    """A secret as a log might show it: hex, base64, as Python prints bytes or lists, as itself."""
    yield secret.hex()
    yield secret.hex().upper()
    yield base64.b64encode(secret).decode().rstrip("=")
    yield base64.urlsafe_b64encode(secret).decode().rstrip("=")
    yield repr(secret)[2:-1]
    yield repr(secret)[2:-1].replace("\\", "\\\\")
    yield ", ".join(map(str, secret))
    yield ",".join(map(str, secret))


def around(page: str, found: str) -> str:
    """What something stands in, and the beginning of the line."""
    place = page.index(found)
    begin = page.rfind("\n", 0, place) + 1
    return repr(f"{page[begin : begin + 200]} … {page[max(begin, place - 200) : place + 200]}")
