"""What happens to a request at the edge, in order: health, CORS, gRPC-Web, limits, and the route."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rami_cli.edge_files import MAX_FILE_BYTES
from rami_cli.edge_refusals import OVERLOADED_STATUS, RATE_LIMITED_STATUS, local_replies

if TYPE_CHECKING:
    from rami_cli.edge_settings import EdgeSettings

HEALTH_PATH: Final = "/healthz"
METRICS_PATH: Final = "/metrics"
EXPOSED_HEADERS: Final = "grpc-status,grpc-message,grpc-status-details-bin"
REQUEST_HEADERS: Final = (
    "authorization,content-type,grpc-timeout,rami-room-id,traceparent,tracestate,x-grpc-web,x-user-agent"
)
MIN_CALLS: Final = 8
"""Calls that may wait however slow the services are: enough to keep one busy, and to see when it gets faster."""
MAX_ADDRESSES: Final = 100_000
"""Addresses whose calls are counted at once; the one that has been quiet the longest makes room."""

_HTTP: Final = "type.googleapis.com/envoy.extensions.filters.http"
_ALWAYS: Final = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}


def connection_manager(settings: EdgeSettings, routes: list[dict[str, Any]]) -> dict[str, Any]:
    """The HTTP connection manager of the public port."""
    return _manager(
        {
            "stat_prefix": "edge",
            "codec_type": "AUTO",
            "use_remote_address": True,
            "xff_num_trusted_hops": settings.trusted_hops,
            "server_header_transformation": "PASS_THROUGH",
            "normalize_path": True,
            "merge_slashes": True,
            "path_with_escaped_slashes_action": "REJECT_REQUEST",
            "max_request_headers_kb": 16,
            "stream_idle_timeout": "0s",  # the services' heartbeat keeps quiet streams alive
            "request_headers_timeout": "10s",
            "common_http_protocol_options": {
                "idle_timeout": "900s",
                "headers_with_underscores_action": "REJECT_REQUEST",
            },
            "http2_protocol_options": {
                "max_concurrent_streams": 1000,
                "initial_stream_window_size": 262_144,
                "initial_connection_window_size": 1_048_576,
                "connection_keepalive": {"interval": "30s", "timeout": "20s"},
            },
            "drain_timeout": "5s",
            "local_reply_config": local_replies(),
            "access_log": _access_logs(settings),
            "http_filters": _filters(settings),
            "route_config": {
                "name": "edge",
                "max_direct_response_body_size_bytes": MAX_FILE_BYTES,
                "virtual_hosts": [
                    {
                        "name": "edge",
                        "domains": ["*"],
                        "routes": routes,
                        "typed_per_filter_config": {"envoy.filters.http.cors": _cors(settings)},
                    }
                ],
                # Whatever the client wrote there: services see the address that the edge saw, and no other.
                "request_headers_to_add": [
                    {
                        "header": {
                            "key": "x-forwarded-for",
                            "value": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
                        },
                        "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
                    }
                ],
            },
        }
    )


def metrics_manager() -> dict[str, Any]:
    """The HTTP connection manager of the metrics port: nothing of the admin interface but the Prometheus page."""
    return _manager(
        {
            "stat_prefix": "metrics",
            "http_filters": [_router()],
            "route_config": {
                "virtual_hosts": [
                    {
                        "name": "metrics",
                        "domains": ["*"],
                        "routes": [
                            {
                                "match": {"path": METRICS_PATH},
                                "route": {"cluster": "admin", "prefix_rewrite": "/stats/prometheus"},
                            }
                        ],
                    }
                ]
            },
        }
    )


def _manager(config: dict[str, Any]) -> dict[str, Any]:
    kind = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    return {"name": "envoy.filters.network.http_connection_manager", "typed_config": {"@type": kind, **config}}


def _filters(settings: EdgeSettings) -> list[dict[str, Any]]:
    filters = [
        _filter("health_check", "health_check.v3.HealthCheck", _health()),
        _filter("cors", "cors.v3.Cors", {}),
        _filter("grpc_web", "grpc_web.v3.GrpcWeb", {}),
    ]
    if settings.calls_per_second:
        filters.append(_filter("local_ratelimit", "local_ratelimit.v3.LocalRateLimit", _rate_limit(settings)))
    filters += [_adaptive(settings, f"limit_{kind}_calls") for kind in ("game", "matchmaking")]
    return [*filters, _router()]


def _filter(name: str, kind: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"envoy.filters.http.{name}", "typed_config": {"@type": f"{_HTTP}.{kind}", **config}}


def _router() -> dict[str, Any]:
    return _filter("router", "router.v3.Router", {"suppress_envoy_headers": True})


def _health() -> dict[str, Any]:
    """For the balancer in front: 200 while there is a game service that is well, and not while draining."""
    return {
        "pass_through_mode": False,
        "headers": [{"name": ":path", "string_match": {"exact": HEALTH_PATH}}],
        "cluster_min_healthy_percentages": {"game_calls": {"value": 1}},
    }


def _cors(settings: EdgeSettings) -> dict[str, Any]:
    matches = [
        {"safe_regex": {"regex": ".*"}} if origin == "*" else {"exact": origin} for origin in settings.cors_origins
    ]
    return {
        "@type": f"{_HTTP}.cors.v3.CorsPolicy",
        "allow_origin_string_match": matches,
        "allow_methods": "POST",
        "allow_headers": REQUEST_HEADERS,
        "expose_headers": EXPOSED_HEADERS,
        "max_age": "86400",
    }


def _rate_limit(settings: EdgeSettings) -> dict[str, Any]:
    """A bucket for each address; the filter demands one for everybody as well, which is so large that it never
    refuses.
    """
    often = settings.calls_per_second >= 10
    bucket = {
        "max_tokens": settings.call_burst,
        "tokens_per_fill": round(settings.calls_per_second / 10) if often else 1,
        "fill_interval": "0.1s" if often else f"{1 / settings.calls_per_second:.3f}s",
    }
    return {
        "stat_prefix": "per_address",
        "filter_enabled": _ALWAYS,
        "filter_enforced": _ALWAYS,
        "token_bucket": {"max_tokens": 1_000_000_000, "tokens_per_fill": 1_000_000_000, "fill_interval": "0.1s"},
        "always_consume_default_token_bucket": False,
        "descriptors": [{"entries": [{"key": "masked_remote_address"}], "token_bucket": bucket}],
        "max_dynamic_descriptors": MAX_ADDRESSES,
        "status": {"code": RATE_LIMITED_STATUS},
        "rate_limited_as_resource_exhausted": True,
        # Whoever has one IPv6 address has all of its /64 network.
        "rate_limits": [{"actions": [{"masked_remote_address": {"v4_prefix_mask_len": 32, "v6_prefix_mask_len": 64}}]}],
    }


def _adaptive(settings: EdgeSettings, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "typed_config": {
            "@type": f"{_HTTP}.adaptive_concurrency.v3.AdaptiveConcurrency",
            "gradient_controller_config": {
                "sample_aggregate_percentile": {"value": 50},
                "concurrency_limit_params": {
                    "max_concurrency_limit": settings.max_calls,
                    "concurrency_update_interval": "0.1s",
                },
                # A goal instead of a measurement: measuring the best latency means to let almost nobody in while
                # it lasts.
                "min_rtt_calc_params": {
                    "fixed_value": f"{settings.target_latency_ms / 1000:g}s",
                    "min_concurrency": min(MIN_CALLS, settings.max_calls),
                    "buffer": {"value": 0},
                },
            },
            "concurrency_limit_exceeded_status": {"code": OVERLOADED_STATUS},
        },
    }


def _access_logs(settings: EdgeSettings) -> list[dict[str, Any]]:
    """One JSON line a call, without headers that may hold a secret."""
    if settings.access_log == "off":
        return []
    log: dict[str, Any] = {
        "name": "envoy.access_loggers.stdout",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog",
            "log_format": {
                "json_format": {
                    "time": "%START_TIME%",
                    "service": "edge",
                    "method": "%REQ(:METHOD)%",
                    "path": "%PATH(NQ)%",
                    "protocol": "%PROTOCOL%",
                    "http_status": "%RESPONSE_CODE%",
                    "grpc_status": "%GRPC_STATUS%",
                    "flags": "%RESPONSE_FLAGS%",
                    "details": "%RESPONSE_CODE_DETAILS%",
                    "milliseconds": "%DURATION%",
                    "bytes_in": "%BYTES_RECEIVED%",
                    "bytes_out": "%BYTES_SENT%",
                    "address": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
                    "upstream": "%UPSTREAM_HOST%",
                    "request_id": "%REQ(X-REQUEST-ID)%",
                }
            },
        },
    }
    if settings.access_log == "errors":
        log["filter"] = {"grpc_status_filter": {"statuses": ["INTERNAL", "UNKNOWN", "UNAVAILABLE", "DATA_LOSS"]}}
    return [log]
