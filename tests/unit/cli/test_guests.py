"""The file of guests: who is found in it, what it survives, and that nobody else reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rami_cli.connecting import Home
from rami_cli.guests import Guest, GuestBook

if TYPE_CHECKING:
    from pathlib import Path

HERE, THERE = Home("here:1", "here:3"), Home("there:1", "there:3")
NOW = 1_000.0


def guest(name: str = "Ada", home: Home = HERE, *, expires: float = NOW + 60, room: str = "") -> Guest:
    return Guest(*home, name, f"id of {name}", "a-secret-token", NOW, expires, room)


@pytest.fixture
def book(tmp_path: Path) -> GuestBook:
    return GuestBook(tmp_path / "state" / "guests.json", now=NOW)


def test_a_guest_is_found_by_cluster_and_name_alone(book: GuestBook) -> None:
    assert book.find(HERE, "Ada") is None
    ada = book.keep(guest())
    bob = book.keep(guest("Bob"))
    assert (book.find(HERE, "Ada"), book.find(HERE, "Bob")) == (ada, bob)
    assert book.find(THERE, "Ada") is None
    book.forget(ada)
    assert (book.find(HERE, "Ada"), book.find(HERE, "Bob")) == (None, bob)


def test_a_guest_is_replaced_by_the_one_of_the_same_name(book: GuestBook) -> None:
    book.keep(guest())
    book.keep(replace(guest(), token="another"))
    found = book.find(HERE, "Ada")
    assert found is not None
    assert found.token == "another"


def test_a_token_that_has_ended_is_not_kept(book: GuestBook) -> None:
    book.keep(guest(expires=NOW, room="p0-aaaaaaaaaaaaaaaa"))
    assert book.find(HERE, "Ada") is None
    assert book.left_behind() is None


def test_the_match_that_was_left_last_is_remembered(book: GuestBook) -> None:
    assert book.left_behind() is None
    book.keep(guest(room="p0-aaaaaaaaaaaaaaaa"))
    last = book.keep(guest("Bob", THERE, room="p0-bbbbbbbbbbbbbbbb"))
    book.keep(guest("Cyd"))
    assert book.left_behind() == last
    book.keep(replace(last, room=""))
    left = book.left_behind()
    assert left is not None
    assert left.name == "Ada"


def test_only_its_owner_reads_the_file_and_no_repr_shows_a_token(book: GuestBook, tmp_path: Path) -> None:
    kept = book.keep(guest())
    (file,) = (tmp_path / "state").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert kept.token in file.read_text()
    assert kept.token not in repr(kept)


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", '[{"game": "here:1"}]', '[{"unknown": 1}]', "null"])
def test_a_file_of_something_else_is_as_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "guests.json"
    path.write_text(text)
    book = GuestBook(path, now=NOW)
    assert book.find(HERE, "Ada") is None
    ada = book.keep(guest())
    assert book.find(HERE, "Ada") == ada


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    book = GuestBook(tmp_path / "file" / "guests.json", now=NOW)
    assert book.keep(guest()) == guest()
    assert book.find(HERE, "Ada") is None


def test_the_book_of_the_user_is_where_state_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ada = GuestBook.of_user().keep(guest(expires=GuestBook.of_user().now + 60))
    assert (tmp_path / "rami" / "guests.json").exists()
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert GuestBook.of_user().find(HERE, "Ada") is None
    GuestBook.of_user().keep(ada)
    assert (tmp_path / "home" / ".local" / "state" / "rami" / "guests.json").exists()
