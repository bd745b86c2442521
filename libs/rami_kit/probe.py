"""Whether a service of this machine is SERVING, as an exit code: what containers use as their health check.

    python -m rami_kit.probe            asks 127.0.0.1 on the port of RAMI_PORT
    python -m rami_kit.probe HOST:PORT  asks there

Over TLS where RAMI_TLS_CA_FILE is set, with the certificate of RAMI_TLS_CERT_FILE where the service asks for one;
RAMI_PROBE_NAME is then the name that the service's certificate is for.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMEOUT_SECONDS: Final = 2.0
SERVING: Final = 0
NOT_SERVING: Final = 1
"""It says so itself, or does not answer."""
BAD_USAGE: Final = 2

_Status = health_pb2.HealthCheckResponse


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Asks once; the exit code. Says in one line on standard error why it is not 0."""
    port = environment.get("RAMI_PORT", "")
    if len(arguments) > 1 or (not arguments and not port.isdigit()):
        return _fail("give HOST:PORT, or set RAMI_PORT", BAD_USAGE)
    target = arguments[0] if arguments else f"127.0.0.1:{port}"
    try:
        with _channel(target, environment) as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_SECONDS)
    except grpc.RpcError as error:
        return _fail(f"{target}: {error.code().name}", NOT_SERVING)
    except OSError as error:
        return _fail(f"cannot read {error.filename}: {error.strerror}", BAD_USAGE)
    if answer.status != _Status.SERVING:
        return _fail(f"{target}: {_Status.ServingStatus.Name(answer.status)}", NOT_SERVING)
    return SERVING


def _channel(target: str, environment: Mapping[str, str]) -> grpc.Channel:
    authorities = environment.get("RAMI_TLS_CA_FILE")
    if not authorities:
        return grpc.insecure_channel(target)
    own = [environment.get(name) for name in ("RAMI_TLS_KEY_FILE", "RAMI_TLS_CERT_FILE")]
    key, certificate = (Path(file).read_bytes() if file else None for file in own)
    credentials = grpc.ssl_channel_credentials(Path(authorities).read_bytes(), key, certificate)
    name = environment.get("RAMI_PROBE_NAME")
    return grpc.secure_channel(target, credentials, options=[("grpc.ssl_target_name_override", name)] if name else [])


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"probe: {text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
