"""The cluster that the documentation is tried on: bots without a pace, an archive, an identity provider, a magpie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from support.cluster import Cluster, running_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class DocsCluster:
    """A running cluster, and the folder in which readers work."""

    cluster: Cluster
    folder: Path
    environment: dict[str, str]
    """For commands that are typed in that folder."""


@contextmanager
def running_docs_cluster(folder: Path) -> Iterator[DocsCluster]:
    """A cluster, and the example of a bot service, as the pages would have them."""
    (folder / "jwks.json").write_text(json.dumps({"keys": [_other_key()]}))
    (folder / "examples").symlink_to(ROOT / "examples")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
    key = subprocess.run(
        [sys.executable, "-m", "rami_cli", "bot-key", "magpie"], capture_output=True, text=True, check=True, env=clean
    ).stdout.strip()
    magpie = subprocess.Popen(
        [sys.executable, str(ROOT / "examples" / "bot_service.py"), "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**clean, "RAMI_BOT_KEY": key},
    )
    try:
        assert magpie.stdout is not None
        port = magpie.stdout.readline().split()[-1]
        with running_cluster(
            RAMI_BOT_PACE_SECONDS="0",
            RAMI_BOT_FILL_WAIT_SECONDS="0.3",
            RAMI_LARGER_TABLE_WAIT_SECONDS="0",
            RAMI_ARCHIVE_URL=str(folder / "archive"),
            RAMI_JWT_JWKS_FILE=str(folder / "jwks.json"),
            RAMI_JWT_ISSUER="https://id.example.com",
            RAMI_JWT_SECRET="for guests beside the provider's players",
            RAMI_BOT_SERVICES=f"magpie=127.0.0.1:{port}",
        ) as cluster:
            yield DocsCluster(cluster, folder, {**clean, "RAMI_REDIS_URL": cluster.redis})
    finally:
        magpie.kill()
        magpie.wait()
        if magpie.stdout is not None:
            magpie.stdout.close()


def _other_key() -> dict[str, object]:
    """A key that nobody signs with: a service does not start with a JWKS file that has none."""
    public = Ed25519PrivateKey.generate().public_key()
    return {**jwt.algorithms.OKPAlgorithm.to_jwk(public, as_dict=True), "kid": "other", "alg": "EdDSA"}
