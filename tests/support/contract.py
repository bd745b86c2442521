"""Every method of the contract, as the descriptors name them: what is added to a .proto file shows up here."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, NamedTuple

from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import rami

if TYPE_CHECKING:
    from google.protobuf.descriptor import MethodDescriptor
    from google.protobuf.message import Message


class Method(NamedTuple):
    """One method of one process."""

    process: str
    """Which process serves it: game, ai or matchmaking."""
    path: str
    """Such as "/rami.game.v1.GameService/Play"."""
    descriptor: MethodDescriptor

    @property
    def name(self) -> str:
        """Short and unique within a process: "GameService/Play"."""
        service, _, method = self.path.removeprefix("/").rpartition("/")
        return f"{service.rpartition('.')[2]}/{method}"

    @property
    def request(self) -> type[Message]:
        """The type of its requests."""
        return message_factory.GetMessageClass(self.descriptor.input_type)


def contract_methods() -> list[Method]:
    """The methods of all services of the contract, in the order of their files."""
    methods = []
    for found in pkgutil.walk_packages(rami.__path__, "rami."):
        if found.name.endswith("_pb2"):
            file = importlib.import_module(found.name).DESCRIPTOR
            for service in file.services_by_name.values():
                process = found.name.split(".")[1]
                methods += [_method(process, service.full_name, name) for name in service.methods_by_name]
    return methods


def common_methods(process: str) -> list[Method]:
    """Health and reflection of a process."""
    files = (health_pb2.DESCRIPTOR, reflection_pb2.DESCRIPTOR)
    services = [service for file in files for service in file.services_by_name.values()]
    return [_method(process, service.full_name, name) for service in services for name in service.methods_by_name]


def _method(process: str, service: str, name: str) -> Method:
    descriptor = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    return Method(process, f"/{service}/{name}", descriptor)
