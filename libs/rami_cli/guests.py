"""The guests that this user has played as: tokens are kept, so that a match can go on after the terminal was closed.

One JSON file that nobody else may read, in $XDG_STATE_HOME/rami (~/.local/state/rami). A guest is kept for each cluster
and name: two terminals with two names are two players. A token goes to the cluster that gave it and to no other.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rami_cli.connecting import Home
from rami_client import RpcError, UnauthenticatedError

if TYPE_CHECKING:
    from rami.matchmaking.v1 import player_service_pb2 as players
    from rami_client import Client

STATE_VARIABLE: Final = "XDG_STATE_HOME"


@dataclass(frozen=True, slots=True)
class Guest:
    """A guest of a cluster. Times are seconds since 1970, by the clock of this machine and of the cluster."""

    game: str
    matchmaking: str
    name: str
    player_id: str
    token: str = field(repr=False)
    since: float
    expires: float
    room: str = ""
    """Where a match was left that may go on."""

    @property
    def home(self) -> Home:
        """The cluster that knows this guest."""
        return Home(self.game, self.matchmaking)


class GuestBook:
    """The file of guests. What is in it and cannot be read, or be written, is as if it had never been kept."""

    def __init__(self, path: Path, *, now: float | None = None) -> None:
        """`now` is for tests; None means the clock."""
        self._path = path
        self._now = now

    @classmethod
    def of_user(cls) -> Self:
        """The book of whoever runs this process."""
        state = os.environ.get(STATE_VARIABLE) or Path.home() / ".local" / "state"
        return cls(Path(state) / "rami" / "guests.json")

    @property
    def now(self) -> float:
        """The present, in seconds since 1970."""
        return time.time() if self._now is None else self._now

    def find(self, home: Home, name: str) -> Guest | None:
        """The guest of this name whose token still counts."""
        return next((guest for guest in self._read() if guest.home == home and guest.name == name), None)

    def left_behind(self) -> Guest | None:
        """The guest who was last seen to leave a match that may go on."""
        return next((guest for guest in reversed(self._read()) if guest.room), None)

    def keep(self, guest: Guest) -> Guest:
        """Keeps a guest in place of the one of that name, as the latest of all; gives it back."""
        others = [each for each in self._read() if (each.home, each.name) != (guest.home, guest.name)]
        self._write([*others, guest])
        return guest

    def forget(self, guest: Guest) -> None:
        """Keeps the guest no longer."""
        self._write([each for each in self._read() if (each.home, each.name) != (guest.home, guest.name)])

    def _read(self) -> list[Guest]:
        try:
            guests = [Guest(**entry) for entry in json.loads(self._path.read_text(encoding="utf-8"))]
            return [guest for guest in guests if guest.expires > self.now]
        except (OSError, ValueError, TypeError):
            return []  # none yet, or written by something else

    def _write(self, guests: list[Guest]) -> None:
        with suppress(OSError):  # without a folder to write to, a match cannot be found again: nothing worse
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            fresh.touch(mode=0o600)
            fresh.write_text(json.dumps([asdict(guest) for guest in guests], indent=1), encoding="utf-8")
            fresh.replace(self._path)


async def sign_in_as(client: Client, book: GuestBook, home: Home, name: str) -> Guest:
    """Signs in the guest of this name who is known at a cluster, with a new token where half of the old one's life is
    over; a new guest where none is known. Raises RpcError.
    """
    known = book.find(home, name)
    if known is None:
        return _keep_new(book, home, name, await client.sign_in_as_guest(name))
    try:
        await client.sign_in(known.token)
    except UnauthenticatedError:  # the cluster has other keys now
        book.forget(known)
        return _keep_new(book, home, name, await client.sign_in_as_guest(name))
    if book.now <= (known.since + known.expires) / 2:
        return known
    with suppress(RpcError):  # the token at hand still counts; the next time tries again
        renewed = await client.renew_guest()
        end = renewed.expire_time.ToMilliseconds() / 1000
        return book.keep(replace(known, token=renewed.token, since=book.now, expires=end))
    return known


def _keep_new(book: GuestBook, home: Home, name: str, made: players.CreateGuestResponse) -> Guest:
    end = made.expire_time.ToMilliseconds() / 1000
    return book.keep(Guest(*home, name, made.player_id, made.token, book.now, end))
