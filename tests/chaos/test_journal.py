"""The journal of chaos runs: what is written is in the file, and who waits for it is woken or lets go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from support.chaos_journal import Answered, Journal, Struck, read_journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.chaos_journal import Record


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal.jsonl")
    yield opened
    opened.close()


def test_records_are_in_the_file_at_once_and_come_back_equal(journal: Journal) -> None:
    records: list[Record] = [Struck(0.5, "cut"), Answered(1.0, 7, "OK", event=b"\x00\xff")]
    for record in records:
        journal.write(record)
    assert list(read_journal(journal.path)) == records


def test_listeners_hear_of_what_is_in_the_file(journal: Journal) -> None:
    heard: list[int] = []
    journal.listen(lambda _: heard.append(len(list(read_journal(journal.path)))))
    journal.write(Struck(0, "one"))
    journal.write(Struck(0, "two"))
    assert heard == [1, 2]


async def test_who_waits_is_woken_by_what_is_written(journal: Journal) -> None:
    heard: list[object] = []
    journal.listen(heard.append)
    waiting = asyncio.create_task(journal.until(lambda: len(heard) == 2, 60))
    for text in ("one", "two"):
        await asyncio.sleep(0)
        journal.write(Struck(0, text))
    assert await waiting


async def test_who_waits_in_vain_is_told(journal: Journal) -> None:
    assert not await journal.until(lambda: False, 0.01)


async def test_who_waits_can_be_cancelled_while_records_come(journal: Journal) -> None:
    for _ in range(100):
        waiting = asyncio.create_task(journal.until(lambda: False, 60))
        await asyncio.sleep(0)
        journal.write(Struck(0, "in the same turn of the loop"))
        waiting.cancel()
        async with asyncio.timeout(60):
            await asyncio.wait([waiting])
        assert waiting.cancelled()
