"""Join codes are short, so that people can tell them to each other: who guesses at them is slowed down.

Only wrong codes count, of look-ups and joins together, and by address, since a stranger can be any number of guests.
An address that has used up its wrong codes gets no answer to any code for a while, so that a guess that happens to be
right is not told either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_kit.admission import current_address
from rami_kit.errors import RamiError, reasons, refused
from rami_kit.rates import Buckets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rami_kit.rates import Rate

WRONG_CODES: Final = "wrong_codes_per_address"


class CodeGuard:
    """The wrong codes of all addresses. One per process."""

    def __init__(self, rate: Rate | None) -> None:
        """`rate` of None: anybody may guess as fast as calls are taken."""
        self._wrong = Buckets(rate) if rate is not None else None

    async def room_of(self, look_up: Callable[[], Awaitable[str]]) -> str:
        """The room that a look-up of a code finds.

        Raises RATE_LIMITED without looking when the caller's address has brought too many wrong codes, and what the
        look-up raises; JOIN_CODE_NOT_FOUND counts.
        """
        address = current_address()
        if self._wrong is None or not address:
            return await look_up()
        # Taken first and given back: of many guesses at once, too, no more are looked at than allowed.
        wait = self._wrong.take(address)
        if wait:
            raise refused(
                reasons.ERROR_REASON_RATE_LIMITED,
                "too many wrong join codes came from the address",
                retry_after_seconds=wait,
                limit=WRONG_CODES,
            )
        try:
            room_id = await look_up()
        except RamiError as error:
            if error.reason != reasons.ERROR_REASON_JOIN_CODE_NOT_FOUND:
                self._wrong.give_back(address)
            raise
        self._wrong.give_back(address)
        return room_id
