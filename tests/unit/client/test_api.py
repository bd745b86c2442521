"""The public names of the client: adding one is a decision, losing one breaks somebody."""

import inspect

import rami_client
from rami_client import Client, RamiClientError, Table
from rami_client import errors as errors_module


def test_the_public_names_are_these() -> None:
    assert sorted(rami_client.__all__) == rami_client.__all__
    assert all(hasattr(rami_client, name) for name in rami_client.__all__)
    everything = {name for name, value in vars(errors_module).items() if _is_own_error(value)}
    assert everything <= set(rami_client.__all__)


def test_every_error_has_the_one_root() -> None:
    for name, value in vars(errors_module).items():
        if _is_own_error(value):
            assert issubclass(value, RamiClientError), name


def test_every_public_method_is_documented() -> None:
    for owner in (Client, Table):
        for name, member in inspect.getmembers(owner, inspect.isfunction):
            assert name.startswith("_") or member.__doc__, f"{owner.__name__}.{name}"


def _is_own_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception) and value.__module__ == errors_module.__name__
