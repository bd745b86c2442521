"""Running the examples in docstrings of the client: doctests in which `await` works, against a running cluster.

Python's own runner executes an example at once and so cannot wait for one. This one waits, and gives the examples what
their text speaks of: players, rooms in several states, a table.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import re
import secrets
import sys
from contextlib import AsyncExitStack
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.duration_pb2 import Duration

import rami_client
import rami_engine
from rami.game.v1 import room_pb2, rules_pb2
from rami.matchmaking.v1 import matchmaking_service_pb2 as matchmaking
from rami_client import Bot, Client, play_match

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from rami_engine import Action, SeatView
    from support.cluster import Cluster

_PARSER: Final = doctest.DocTestParser()
_CHECKER: Final = doctest.OutputChecker()
_QUICK: Final = room_pb2.RoomOptions(
    seats=2, spectators_allowed=True, bot_pace=Duration(), rules=rules_pb2.RuleOptions(target_score=1)
)


class Last(Bot):
    """Ends its turns as soon as it can."""

    def choose(self, _view: SeatView, legal: tuple[Action, ...]) -> Action:
        return legal[-1]


def documented() -> Iterator[tuple[str, Any]]:
    """Every public class and function, and every public method of the classes, by its dotted name."""
    for name in rami_client.__all__:
        value = getattr(rami_client, name)
        yield name, value
        if inspect.isclass(value):
            for method, member in inspect.getmembers(value):
                ours = str(getattr(member, "__module__", "")).startswith("rami_client")
                if not method.startswith("_") and (isinstance(member, property) or (ours and callable(member))):
                    yield f"{name}.{method}", member


def has_examples(value: Any) -> bool:
    return ">>>" in (value.__doc__ or "")


async def run_examples(name: str, value: Any, names: dict[str, Any]) -> None:
    """Runs the examples of a docstring in order. Raises AssertionError where one prints something else."""
    for example in _PARSER.get_examples(inspect.getdoc(value) or "", name):
        printed = io.StringIO()
        code = compile(example.source, f"<{name}>", "single", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        sys.displayhook, hook = sys.__displayhook__, sys.displayhook
        try:
            with contextlib.redirect_stdout(printed):
                result = FunctionType(code, names)()
                if inspect.isawaitable(result):
                    await result
        except Exception as error:  # noqa: BLE001 - an example may show any error
            got = f"{type(error).__module__}.{type(error).__qualname__}: {error}\n"
            assert example.exc_msg is not None, f"{name}: {example.source}{got}"
            assert got.endswith(example.exc_msg), f"{name}: {example.source}{got}"
            continue
        finally:
            sys.displayhook = hook
        assert example.exc_msg is None, f"{name}: {example.source}raised nothing"
        got = printed.getvalue()
        assert _CHECKER.check_output(example.want, got, 0), f"{name}: {example.source}{got}instead of {example.want}"


@contextlib.asynccontextmanager
async def example_names(text: str, cluster: Cluster, folder: Path) -> AsyncIterator[dict[str, Any]]:
    """What examples may speak of; what takes a while is made only where their text names it."""
    names: dict[str, Any] = {
        **{name: getattr(rami_client, name) for name in rami_client.__all__},
        **{name: getattr(rami_engine, name) for name in ("DRAW_STOCK", "discard_action", "format_action")},
        **dict(matchmaking.TicketState.items()),
        "RoomOptions": room_pb2.RoomOptions,
        "VISIBILITY_PUBLIC": room_pb2.VISIBILITY_PUBLIC,
        "secrets": secrets,
        "folder": folder,
        "bot": Last(),
        "game": cluster.game,
        "matchmaking": cluster.matchmaking,
    }
    async with AsyncExitStack() as stack:

        async def signed_in(name: str) -> Client:
            client = await stack.enter_async_context(Client.connect(game=cluster.game, matchmaking=cluster.matchmaking))
            await client.sign_in_as_guest(name)
            return client

        def named(word: str) -> bool:
            return re.search(rf"\b{word}\b", text) is not None

        client = names["client"] = await signed_in("Ada")
        if named("friend") or named("token"):
            names["friend"] = await signed_in("Bob")
            names["token"] = names["friend"].token
        if named("room") or named("watching"):
            names["room"] = await client.create_room(_QUICK)
            names["watching"] = await stack.enter_async_context(client.watch(names["room"].room_id))
        if named("started") or named("table") or named("finished"):
            started = (await client.create_room(_QUICK, bots={1: "easy"})).room_id
            await client.start_match(started)
            names["started"] = names["finished"] = started
            if named("table") and not named("started"):
                names["table"] = await stack.enter_async_context(client.table(started))
            if named("finished"):
                async with client.table(started) as table:
                    await play_match(table, Last())
        yield names


__all__ = ["documented", "example_names", "has_examples", "run_examples"]
