"""The services behind the edge: where they are, which of them are well, and how much each may be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_cli.edge_settings import EdgeSettings, Endpoint

HEALTH_SECONDS: Final = "1s"
"""How often every replica is asked; two bad answers take it out, one good one brings it back."""


def clusters(settings: EdgeSettings) -> list[dict[str, Any]]:
    """Two clusters for each kind of service: one for unary calls, one for streams."""
    return [
        _cluster(settings, f"{kind}_{part}", addresses, limit)
        for kind, addresses in (("game", settings.game_addresses), ("matchmaking", settings.matchmaking_addresses))
        for part, limit in (("calls", 2 * settings.max_calls), ("streams", settings.max_streams))
    ]


def socket_address(host: str, port: int) -> dict[str, Any]:
    """Envoy's form of an address."""
    return {"socket_address": {"address": host, "port_value": port}}


def _cluster(settings: EdgeSettings, name: str, addresses: Sequence[Endpoint], max_requests: int) -> dict[str, Any]:
    endpoints = [{"endpoint": {"address": socket_address(*address)}} for address in addresses]
    return {
        "name": name,
        # Every address that a name stands for is an endpoint of its own.
        "cluster_type": {
            "name": "envoy.cluster.dns",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster",
                "dns_refresh_rate": "2s",
                "dns_lookup_family": "ALL",
            },
        },
        "connect_timeout": "1s",
        "lb_policy": "MAGLEV",
        # Where nobody is well, callers are told so at once instead of being sent to whoever is not.
        "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": endpoints}]},
        "health_checks": [
            {
                "timeout": "1s",
                "interval": HEALTH_SECONDS,
                "no_traffic_interval": HEALTH_SECONDS,
                "interval_jitter_percent": 10,
                "unhealthy_threshold": 2,
                "healthy_threshold": 1,
                "grpc_health_check": {},
            }
        ],
        "outlier_detection": {
            # A status that a service sends on purpose, UNAVAILABLE while the store is away say, is no reason to
            # leave it: only connections that fail or break are.
            "split_external_local_origin_errors": True,
            "consecutive_local_origin_failure": 3,
            "enforcing_consecutive_5xx": 0,
            "enforcing_consecutive_gateway_failure": 0,
            "enforcing_success_rate": 0,
            "enforcing_local_origin_success_rate": 0,
            "interval": "1s",
            "base_ejection_time": "2s",
            "max_ejection_time": "30s",
            "max_ejection_percent": 50,
        },
        "circuit_breakers": {
            "thresholds": [
                {
                    "priority": "DEFAULT",
                    "max_connections": 1024,
                    "max_requests": max_requests,
                    "max_pending_requests": max_requests,
                    "retry_budget": {"budget_percent": {"value": 20}, "min_retry_concurrency": 3},
                    "track_remaining": True,
                }
            ]
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {
                    "http2_protocol_options": {
                        "max_concurrent_streams": 2_147_483_647,
                        # A replica whose machine is gone is noticed on silent streams as well.
                        "connection_keepalive": {"interval": "20s", "timeout": "10s"},
                    }
                },
            }
        },
        **_client_tls(settings),
    }


def _client_tls(settings: EdgeSettings) -> dict[str, Any]:
    if settings.upstream_ca_file is None:
        return {}
    context: dict[str, Any] = {
        "validation_context": {"trusted_ca": {"filename": settings.upstream_ca_file}},
        "alpn_protocols": ["h2"],
    }
    if settings.upstream_cert_file is not None:
        context["tls_certificates"] = [
            {
                "certificate_chain": {"filename": settings.upstream_cert_file},
                "private_key": {"filename": settings.upstream_key_file},
            }
        ]
    return {
        "transport_socket": {
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
                "common_tls_context": context,
                "auto_sni_san_validation": True,
                "auto_host_sni": True,
            },
        }
    }
