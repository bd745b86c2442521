"""A small service for tests of the runtime: one method of each kind, its .proto made on the spot.

service EchoService {
  rpc Say(StringValue) returns (StringValue);               // unary
  rpc Count(StringValue) returns (stream StringValue);      // server stream
  rpc Chat(stream StringValue) returns (stream StringValue);
}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.wrappers_pb2 import StringValue

from rami_kit.access import Access

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from rami_kit.app import App

__all__ = ["SERVICE", "EchoServicer", "EchoStub", "StringValue", "add_echo_to_server", "build_echo", "text", "value_of"]

SERVICE = "rami.testing.v1.EchoService"
Context = grpc.aio.ServicerContext


def _register() -> None:
    file = descriptor_pb2.FileDescriptorProto(
        name="rami/testing/v1/echo.proto",
        package="rami.testing.v1",
        syntax="proto3",
        dependency=["google/protobuf/wrappers.proto"],
    )
    service = file.service.add(name="EchoService")
    for name, client_streaming, server_streaming in (
        ("Say", False, False),
        ("Count", False, True),
        ("Chat", True, True),
    ):
        service.method.add(
            name=name,
            input_type=".google.protobuf.StringValue",
            output_type=".google.protobuf.StringValue",
            client_streaming=client_streaming,
            server_streaming=server_streaming,
        )
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


_register()


class EchoServicer:
    """Answers what it is told. Tests replace `on_say`, `on_count` and `on_chat`."""

    def __init__(self) -> None:
        self.on_say: Callable[[StringValue], Awaitable[StringValue | bytes]] = self._echo
        self.on_count: Callable[[StringValue], AsyncIterator[StringValue | bytes]] = self._three
        self.on_chat: Callable[[AsyncIterator[StringValue]], AsyncIterator[StringValue | bytes]] = self._parrot

    async def Say(self, request: StringValue, _context: Context[Any, Any]) -> StringValue | bytes:  # noqa: N802 - RPC
        return await self.on_say(request)

    async def Count(  # noqa: N802 - the name of the RPC
        self, request: StringValue, _context: Context[Any, Any]
    ) -> AsyncIterator[StringValue | bytes]:
        responses = self.on_count(request)
        try:
            async for response in responses:
                yield response
        finally:
            await responses.aclose()  # type: ignore[attr-defined]  # tests give async generators

    async def Chat(  # noqa: N802 - the name of the RPC
        self, requests: AsyncIterator[StringValue], _context: Context[Any, Any]
    ) -> AsyncIterator[StringValue | bytes]:
        responses = self.on_chat(requests)
        try:
            async for response in responses:
                yield response
        finally:
            await responses.aclose()  # type: ignore[attr-defined]  # tests give async generators

    @staticmethod
    async def _echo(request: StringValue) -> StringValue:
        return StringValue(value=request.value)

    @staticmethod
    async def _three(request: StringValue) -> AsyncIterator[StringValue | bytes]:
        for number in range(3):
            yield StringValue(value=f"{request.value}{number}")

    @staticmethod
    async def _parrot(requests: AsyncIterator[StringValue]) -> AsyncIterator[StringValue | bytes]:
        async for request in requests:
            yield request.SerializeToString()


def add_echo_to_server(servicer: EchoServicer, server: grpc.aio.Server) -> None:
    """What a generated add_..._to_server function does."""
    codec = {"request_deserializer": StringValue.FromString, "response_serializer": StringValue.SerializeToString}
    handlers: dict[str, Any] = {
        "Say": grpc.unary_unary_rpc_method_handler(servicer.Say, **codec),  # type: ignore[arg-type]  # untyped edge
        "Count": grpc.unary_stream_rpc_method_handler(servicer.Count, **codec),  # type: ignore[arg-type]  # as above
        "Chat": grpc.stream_stream_rpc_method_handler(servicer.Chat, **codec),  # type: ignore[arg-type]  # as above
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    server.add_registered_method_handlers(SERVICE, handlers)


def build_echo(
    servicer: EchoServicer, access: Access = Access.PLAYER, overrides: Mapping[str, Access] | None = None
) -> Callable[[App], Awaitable[None]]:
    """A service's build function that serves the echo alone."""

    async def build(app: App) -> None:
        app.add_servicer(add_echo_to_server, servicer, SERVICE, access, overrides)

    return build


class EchoStub:
    """Calls in raw bytes, so that tests may send what no client would."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.say: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICE}/Say")
        self.count: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(f"/{SERVICE}/Count")
        self.chat: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(f"/{SERVICE}/Chat")


def text(value: str) -> bytes:
    """An encoded request."""
    return StringValue(value=value).SerializeToString()


def value_of(raw: bytes) -> str:
    """The text of an encoded response."""
    return StringValue.FromString(raw).value
