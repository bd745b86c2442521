"""The examples in the docstrings of the Python client work as they stand there, and every public method has one."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from support.docs_examples import documented, example_names, has_examples, run_examples

if TYPE_CHECKING:
    from pathlib import Path

    from support.docs_cluster import DocsCluster

DOCUMENTED = dict(documented())
EXAMPLES = {value.__doc__: (name, value) for name, value in DOCUMENTED.items() if has_examples(value)}
"""One of each docstring: what two classes inherit is tried once."""
ELSEWHERE = {"Bot.choose"}
"""Shown with its class: it is to be written, not called."""


@pytest.mark.parametrize(("name", "value"), EXAMPLES.values(), ids=[name for name, _ in EXAMPLES.values()])
async def test_an_example_works(name: str, value: Any, docs_cluster: DocsCluster, tmp_path: Path) -> None:
    async with (
        asyncio.timeout(240),
        example_names(inspect.getdoc(value) or "", docs_cluster.cluster, tmp_path) as names,
    ):
        await run_examples(name, value, names)


def test_every_public_method_has_an_example() -> None:
    methods = {name for name, value in DOCUMENTED.items() if inspect.isroutine(value)}
    assert len(methods) > 50
    assert sorted(name for name in methods - ELSEWHERE if not has_examples(DOCUMENTED[name])) == []


def test_everything_public_is_described() -> None:
    assert [name for name, value in DOCUMENTED.items() if not (value.__doc__ or "").strip()] == []


async def test_an_example_that_shows_something_else_fails() -> None:
    def wrong() -> None:
        """
        >>> 1 + 1
        3
        """

    with pytest.raises(AssertionError, match="instead of 3"):
        await run_examples("wrong", wrong, {})


async def test_an_example_that_raises_is_no_example() -> None:
    def wrong() -> None:
        """
        >>> int("x")
        """

    with pytest.raises(AssertionError, match="ValueError: invalid literal"):
        await run_examples("wrong", wrong, {})
