"""The configuration of Envoy at the edge, as one JSON document (which is YAML, too).

One source for `rami up --edge`, `rami edge` and deploy/envoy: `edge_config` is a pure function of the settings. What
it decides, and why:

- Only what players may call is routed; which methods are streams is read from the contract. Internal services and
  reflection are UNIMPLEMENTED.
- Streams and unary calls go to clusters of their own with the same endpoints: a stream stays open for an hour, and
  must neither count as a waiting call nor be measured as a slow one.
- A call that names its room in `rami-room-id` goes to the same replica each time (maglev); any other is spread.
- Unary calls that wait are limited by what the services manage: the adaptive concurrency filter lets as many in as
  are answered in `target_latency_ms`, and refuses the rest at once.
- Only what no service has seen is sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2

from rami.game.v1 import game_service_pb2, rule_sheet_service_pb2
from rami.matchmaking.v1 import matchmaking_service_pb2, player_service_pb2
from rami_cli.edge_clusters import clusters, socket_address
from rami_cli.edge_files import file_routes
from rami_cli.edge_filters import connection_manager, metrics_manager
from rami_cli.edge_settings import Endpoint

if TYPE_CHECKING:
    from rami_cli.edge_settings import EdgeSettings

PUBLIC_SERVICES: Final = {
    "game": (
        game_service_pb2.DESCRIPTOR.services_by_name["GameService"].full_name,
        rule_sheet_service_pb2.DESCRIPTOR.services_by_name["RuleSheetService"].full_name,
        health_pb2.DESCRIPTOR.services_by_name["Health"].full_name,
    ),
    "matchmaking": (
        matchmaking_service_pb2.DESCRIPTOR.services_by_name["MatchmakingService"].full_name,
        player_service_pb2.DESCRIPTOR.services_by_name["PlayerService"].full_name,
    ),
}
"""What players may call, by the kind of service that answers. Health is that of the game: no game, no service."""

BUFFER_BYTES: Final = 256 * 1024
DEFAULT_ADMIN: Final = Endpoint("127.0.0.1", 9901)


def edge_config(settings: EdgeSettings, *, admin: str | Endpoint = DEFAULT_ADMIN) -> dict[str, Any]:
    """The bootstrap configuration; `admin` is the path of a socket, or an address, for Envoy's admin interface."""
    admin_address = {"pipe": {"path": admin}} if isinstance(admin, str) else socket_address(*admin)
    return {
        "admin": {"address": admin_address, "profile_path": "/dev/null"},
        "static_resources": {
            "listeners": [
                {
                    "name": "edge",
                    "address": socket_address(settings.host, settings.port),
                    # A second edge on the port is an error, and not somebody who gets half of the connections.
                    "enable_reuse_port": False,
                    "connection_balance_config": {"exact_balance": {}},
                    "per_connection_buffer_limit_bytes": BUFFER_BYTES,
                    "listener_filters": _tls_inspector(settings),
                    "filter_chains": [
                        {**_server_tls(settings), "filters": [connection_manager(settings, routes(settings))]}
                    ],
                },
                {
                    "name": "metrics",
                    "address": socket_address(settings.host, settings.metrics_port),
                    "enable_reuse_port": False,
                    "ignore_global_conn_limit": True,
                    "filter_chains": [{"filters": [metrics_manager()]}],
                },
            ],
            "clusters": [*clusters(settings), _admin_cluster(admin_address)],
        },
        "overload_manager": {
            "refresh_interval": "0.25s",
            "resource_monitors": [
                {
                    "name": "envoy.resource_monitors.global_downstream_max_connections",
                    "typed_config": {
                        "@type": "type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3."
                        "DownstreamConnectionsConfig",
                        "max_active_downstream_connections": str(settings.max_connections),
                    },
                }
            ],
        },
    }


def routes(settings: EdgeSettings) -> list[dict[str, Any]]:
    """The routes of every public service, streams first, and at the end what is answered to anything else."""
    found = []
    for kind, services in PUBLIC_SERVICES.items():
        for service in services:
            methods = descriptor_pool.Default().FindServiceByName(service).methods
            found += [
                _route({"path": f"/{service}/{method.name}"}, kind, stream=True)
                for method in methods
                if method.server_streaming
            ]
            found.append(_route({"prefix": f"/{service}/"}, kind, stream=False))
    if settings.static_folder is not None:
        found += file_routes(settings.static_folder)
    # gRPC reads it as UNIMPLEMENTED.
    return [*found, {"match": {"prefix": "/"}, "direct_response": {"status": 404}}]


def _route(match: dict[str, str], kind: str, *, stream: bool) -> dict[str, Any]:
    """A route whose calls of one room go to one replica."""
    other = {"game": "matchmaking", "matchmaking": "game"}[kind]
    unlimited = [f"limit_{kind}_calls", f"limit_{other}_calls"] if stream else [f"limit_{other}_calls"]
    return {
        "match": match,
        "route": {
            "cluster": f"{kind}_streams" if stream else f"{kind}_calls",
            # A stream ends when its token or its process does; a call has a deadline, which the services demand.
            "timeout": "0s" if stream else "75s",
            "idle_timeout": "0s" if stream else "75s",
            "hash_policy": [{"header": {"header_name": "rami-room-id"}}],
            "retry_policy": {
                # No service has seen the call in any of these cases.
                "retry_on": "connect-failure,refused-stream,reset-before-request",
                "num_retries": 2,
                "retry_back_off": {"base_interval": "0.025s", "max_interval": "0.1s"},
                "retry_host_predicate": [
                    {
                        "name": "envoy.retry_host_predicates.previous_hosts",
                        "typed_config": {
                            "@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3."
                            "PreviousHostsPredicate"
                        },
                    }
                ],
                # Each attempt draws again: of two replicas, one in 2^5 rooms would only ever draw the dead one.
                "host_selection_retry_max_attempts": "30",
            },
        },
        "typed_per_filter_config": {
            name: {"@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "disabled": True}
            for name in unlimited
        },
    }


def _server_tls(settings: EdgeSettings) -> dict[str, Any]:
    if settings.tls_cert_file is None:
        return {}
    certificate = {
        "certificate_chain": {"filename": settings.tls_cert_file},
        "private_key": {"filename": settings.tls_key_file},
    }
    return {
        "transport_socket": {
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
                "common_tls_context": {
                    "tls_params": {"tls_minimum_protocol_version": "TLSv1_2"},
                    "tls_certificates": [certificate],
                    "alpn_protocols": ["h2", "http/1.1"],
                },
            },
        }
    }


def _tls_inspector(settings: EdgeSettings) -> list[dict[str, Any]]:
    if settings.tls_cert_file is None:
        return []
    inspector = "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"
    return [{"name": "envoy.filters.listener.tls_inspector", "typed_config": {"@type": inspector}}]


def _admin_cluster(address: dict[str, Any]) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": address}}
    return {
        "name": "admin",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": "admin", "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
