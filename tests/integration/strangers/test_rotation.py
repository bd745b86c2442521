"""Keys of an identity provider that change under a running service, without a restart and without a gap."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import grpc.aio
import jwt
from cryptography.hazmat.primitives.asymmetric import ed25519

from rami.game.v1 import game_service_pb2 as pb
from rami_kit.testing import bearer
from support.game_cluster import CALL_SECONDS, game_cluster
from support.queueing import until
from support.tokens import jwk, write_jwks

if TYPE_CHECKING:
    from pathlib import Path

    from support.game_bots import FakeBots


def token(key: Any, kid: str) -> tuple[tuple[str, str], ...]:
    claims = {"iss": "https://id.example", "sub": "ann", "exp": time.time() + 600}
    return bearer(jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": kid}))


async def test_keys_come_and_go_under_a_running_service(store_url: str, bots: FakeBots, tmp_path: Path) -> None:
    old, new = ed25519.Ed25519PrivateKey.generate(), ed25519.Ed25519PrivateKey.generate()
    path = tmp_path / "jwks.json"
    write_jwks(path, jwk(old, "old", "EdDSA"))
    async with game_cluster(store_url, ai_address=bots.target, jwt_jwks_file=str(path)) as cluster:
        stub = cluster.player("nobody").stub
        with_old, with_new = token(old, "old"), token(new, "new")

        async def gets_in(metadata: tuple[tuple[str, str], ...]) -> bool:
            try:
                await stub.ListRooms(pb.ListRoomsRequest(), metadata=metadata, timeout=CALL_SECONDS)
            except grpc.aio.AioRpcError as error:
                assert error.code() is grpc.StatusCode.UNAUTHENTICATED  # noqa: PT017 - either is an answer
                return False
            return True

        async def new_gets_in() -> bool:
            assert await gets_in(with_old), "the old key is good for as long as it is in the file"
            return await gets_in(with_new)

        async def old_is_out() -> bool:
            assert await gets_in(with_new)
            return not await gets_in(with_old)

        assert await gets_in(with_old)
        assert not await gets_in(with_new)
        write_jwks(path, jwk(old, "old", "EdDSA"), jwk(new, "new", "EdDSA"))
        await until(new_gets_in, "the new key is known")
        write_jwks(path, jwk(new, "new", "EdDSA"))
        await until(old_is_out, "the old key is forgotten, for tokens that were seen before as well")
        assert not await gets_in(token(old, "new")), "a name is not a key"
        path.write_text("{")
        write_jwks(tmp_path / "later.json", jwk(old, "old", "EdDSA"), jwk(new, "new", "EdDSA"))
        assert await gets_in(with_new), "a broken file changes nothing"
        (tmp_path / "later.json").replace(path)
        await until(lambda: gets_in(with_old), "the file is whole again")
