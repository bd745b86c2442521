"""Typed lines, from a pipe, a terminal or a file."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from rami_cli.lines import LineReader

if TYPE_CHECKING:
    from pathlib import Path


async def test_lines_come_whole_and_in_order() -> None:
    read, write = os.pipe()
    try:
        with LineReader(read) as typed:
            os.write(write, b"fir")
            waiting = asyncio.create_task(typed.read())
            await asyncio.sleep(0)
            os.write(write, "st\r\nzweit\u00e9\n\nla".encode())
            assert await waiting == "first"
            assert await typed.read() == "zweit\u00e9"
            assert await typed.read() == ""
            os.write(write, b"st")
            os.close(write)
            assert await typed.read() == "last"
            assert await typed.read() is None
            assert await typed.read() is None
    finally:
        os.close(read)


async def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "typed"
    path.write_text("one\ntwo\n")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with LineReader(descriptor) as typed:
            assert [await typed.read() for _ in range(3)] == ["one", "two", None]
    finally:
        os.close(descriptor)


async def test_nothing_is_read_after_leaving() -> None:
    read, write = os.pipe()
    try:
        with LineReader(read) as typed:
            pass
        os.write(write, b"late\n")
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await typed.read()
        assert os.read(read, 100) == b"late\n"
    finally:
        os.close(read)
        os.close(write)


async def test_a_terminal_that_is_closed_is_at_its_end() -> None:
    window, terminal = os.openpty()
    try:
        with LineReader(terminal) as typed:
            os.write(window, b"one\n")
            assert await typed.read() == "one"
            os.close(window)
            assert await typed.read() is None
    finally:
        os.close(terminal)
