"""The grpc.aio server and its ports.

gRPC passes unknown option names in silence; those here are spelled as in the C core.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

from rami_kit.settings import SettingsError

if TYPE_CHECKING:
    from rami_kit.settings import ServiceSettings

MAX_RECEIVED_BYTES: Final = 4 << 20
"""Limit of the core. Far above ours, so that a message that is too long is refused with a reason."""
CLIENT_PING_SECONDS: Final = 5
"""Clients may ping this often on a silent connection; the core's default of 5 minutes cuts them off."""


class PortTakenError(Exception):
    """A port that cannot be listened on; the text names it in one line."""


def make_server(settings: ServiceSettings, *interceptors: grpc.aio.ServerInterceptor) -> grpc.aio.Server:
    """A server that is bound to no port yet."""
    options: list[tuple[str, Any]] = [
        # Two processes on one port would share it without a word.
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", MAX_RECEIVED_BYTES),
        # Both the same: between the two the core refuses some calls, at random.
        ("grpc.max_metadata_size", settings.max_metadata_bytes),
        ("grpc.absolute_max_metadata_size", settings.max_metadata_bytes),
        ("grpc.http2.min_ping_interval_without_data_ms", CLIENT_PING_SECONDS * 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        # Calls that the core has accepted and no handler has begun. Beyond them the core answers CANCELLED.
        ("grpc.server.max_pending_requests", settings.max_pending_calls),
        ("grpc.server.max_pending_requests_hard_limit", settings.max_pending_calls),
        # Clients find new replicas only when they connect again. There is no grace after which the core cuts
        # old connections: new calls go elsewhere, and streams, which the interceptor ends in time, are never
        # cut.
        ("grpc.max_connection_age_ms", settings.max_connection_age_seconds * 1000),
    ]
    return grpc.aio.server(interceptors=interceptors, options=options)


def bind(server: grpc.aio.Server, settings: ServiceSettings) -> int:
    """Opens the gRPC port of the settings, with TLS when they name a certificate; the actual port.

    Raises PortTakenError, and SettingsError for certificate files that cannot be used.
    """
    address = f"[{settings.host}]:{settings.port}" if ":" in settings.host else f"{settings.host}:{settings.port}"
    credentials = _server_credentials(settings)
    # The core says no more than that it failed, and writes to stderr by itself: ask the system first.
    try:
        with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((settings.host, settings.port))
    except OSError as error:
        raise PortTakenError(f"cannot listen on {address} (RAMI_HOST, RAMI_PORT): {error.strerror}") from None
    try:
        if credentials is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, credentials)
    except RuntimeError:
        raise PortTakenError(f"cannot listen on {address} (RAMI_HOST, RAMI_PORT)") from None


def _server_credentials(settings: ServiceSettings) -> grpc.ServerCredentials | None:
    if settings.tls_cert_file is None or settings.tls_key_file is None:
        return None
    certificate = _read("RAMI_TLS_CERT_FILE", settings.tls_cert_file)
    key = _read("RAMI_TLS_KEY_FILE", settings.tls_key_file)
    if settings.tls_client_ca_file is None:
        return grpc.ssl_server_credentials([(key, certificate)])
    authorities = _read("RAMI_TLS_CLIENT_CA_FILE", settings.tls_client_ca_file)
    return grpc.ssl_server_credentials([(key, certificate)], authorities, require_client_auth=True)


def _read(env: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"{env}: {path}: {error.strerror}") from None


__all__ = ["PortTakenError", "bind", "make_server"]
