"""Channels to other services.

Names behind `dns:///` are balanced over all their addresses. gRPC itself repeats nothing that a server may have
seen: a call whose answer is lost may have been carried out, and only the caller knows whether repeating it is
safe. It does move a call that never left to the next connection, which is what keeps calls whole while
connections age. gRPC passes unknown option names in silence, so each one here is spelled as in the C core and has
been seen to work.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc
import grpc.aio

if TYPE_CHECKING:
    from rami_kit.settings import ServiceSettings

KEEPALIVE_SECONDS: Final = 20
KEEPALIVE_TIMEOUT_SECONDS: Final = 10
MAX_RECEIVED_BYTES: Final = 4 << 20

_SERVICE_CONFIG: Final = json.dumps({"loadBalancingConfig": [{"round_robin": {}}]})

CHANNEL_OPTIONS: Final = (
    ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1000),
    # A silent stream is what a watch looks like most of the time.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # With no retry policy in the service config, only what no server has seen is sent again.
    ("grpc.enable_retries", 1),
    ("grpc.service_config", _SERVICE_CONFIG),
    # A peer that comes back is noticed within seconds, not within the two minutes of the default.
    ("grpc.initial_reconnect_backoff_ms", 100),
    # For how long a peer may take to greet: on a busy machine it takes more than a second.
    ("grpc.min_reconnect_backoff_ms", 3000),
    ("grpc.max_reconnect_backoff_ms", 3000),
    ("grpc.dns_min_time_between_resolutions_ms", 5000),
    ("grpc.max_receive_message_length", MAX_RECEIVED_BYTES),
    # Else channels to one address share a connection, and with it the pause after a failure: the first call on a new
    # channel failed at once where an older one, of a server that had gone, was still waiting to try the address again.
    ("grpc.use_local_subchannel_pool", 1),
)


def open_channel(target: str, settings: ServiceSettings, *, name: str | None = None) -> grpc.aio.Channel:
    """A channel to a gRPC target, such as "ai:7002" or "dns:///ai-headless:7002".

    `name` is the host that was looked up where the target is an address: what its certificate must be for. The
    channel uses TLS when RAMI_TLS_CA_FILE is set, and shows this service's certificate when it has one. It connects
    by itself when first used. Raises OSError for a certificate file that cannot be read.
    """
    options = CHANNEL_OPTIONS if name is None else (*CHANNEL_OPTIONS, ("grpc.default_authority", name))
    if settings.tls_ca_file is None:
        return grpc.aio.insecure_channel(target, options=options)
    authorities = Path(settings.tls_ca_file).read_bytes()
    certificate = key = None
    if settings.tls_cert_file is not None and settings.tls_key_file is not None:
        certificate, key = Path(settings.tls_cert_file).read_bytes(), Path(settings.tls_key_file).read_bytes()
    credentials = grpc.ssl_channel_credentials(authorities, key, certificate)
    return grpc.aio.secure_channel(target, credentials, options=options)


async def close_channels(*channels: grpc.aio.Channel, grace_seconds: float = 0.5) -> None:
    """Closes channels at once with each other; calls still open get the grace and are then cancelled."""
    await asyncio.gather(*(channel.close(grace_seconds) for channel in channels))


__all__ = ["CHANNEL_OPTIONS", "close_channels", "open_channel"]
