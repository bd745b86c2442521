"""Claims in the store, and their tickets while they are claimed: one method for every script of `claim_scripts`.

Methods raise what the store raises (StoreUnavailable, StoreUncertain, StoreError). After a lost answer all of them
but `claim` may be repeated: what has been done already is found and not done again. A claim whose answer is lost is
left to its lease.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matchmaking import claim_scripts
from matchmaking.claim_records import Claim, decode_claim, encode_claim
from matchmaking.record_parts import UnreadableRecord
from rami_kit import keys

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matchmaking.tickets import TicketTimes
    from rami_kit.redis_store import Store

CLAIM_MS: Final = 86_400_000
"""How long a claim may wait for a game service, and its tickets with it."""
WAITS_MS: Final = 86_400_000
WAITS_KEPT: Final = 200
FIRST_REST_MS: Final = 1_000
LONGEST_REST_MS: Final = 30_000


class ClaimStore:
    """The only way to claims."""

    def __init__(self, store: Store, times: TicketTimes, owner: str) -> None:
        """`owner` names this process in the claims it holds."""
        self._store = store
        self.times = times
        self.owner = owner

    async def claim(self, claim: Claim) -> list[str]:
        """Takes a table out of the queue; the ids of tickets that stood in the way, empty when it is
        claimed.
        """
        tickets = claim.tickets
        reply = await self._store.run(
            claim_scripts.CLAIM,
            _keys_of(claim, keys.waiting_key(), keys.queue_changes_key()),
            [
                claim.key,
                encode_claim(claim),
                self.owner,
                self.times.lease_ms,
                CLAIM_MS,
                self.times.keep_ms,
                *_flat((ticket.ticket_id, " ".join(ticket.player_ids)) for ticket in tickets),
            ],
            durable=True,
        )
        return [ticket_id.decode() for ticket_id in reply]

    async def assign(self, claim: Claim, room_id: str) -> list[int] | None:
        """Seats the tickets of a claim; how long each had waited, in ms. None when it was done before."""
        tickets = claim.tickets
        reply = await self._store.run(
            claim_scripts.ASSIGN,
            _keys_of(claim, keys.waits_key(claim.pool)),
            [
                claim.key,
                room_id,
                self.times.keep_ms,
                WAITS_MS,
                WAITS_KEPT,
                *_flat(
                    (ticket.ticket_id, " ".join(ticket.player_ids), " ".join(map(str, ticket.seats)))
                    for ticket in tickets
                ),
            ],
            durable=True,
        )
        return None if reply is None else [int(waited) for waited in reply]

    async def put_back(self, claim: Claim) -> int | None:
        """Puts the tickets of a claim back into the queue; how many. None when the claim is not ours any
        more.

        Trusts the caller that no room has been created for the claim, nor ever will be.
        """
        tickets = claim.tickets
        reply = await self._store.run(
            claim_scripts.RETURN,
            _keys_of(claim, keys.waiting_key(), keys.queue_changes_key()),
            [
                claim.key,
                self.owner,
                self.times.idle_ms,
                self.times.keep_ms,
                FIRST_REST_MS,
                LONGEST_REST_MS,
                *_flat((ticket.ticket_id, " ".join(ticket.player_ids)) for ticket in tickets),
            ],
            durable=True,
        )
        return None if reply < 0 else int(reply)

    async def renew(self, claim: Claim, lease_ms: int) -> bool:
        """A new lease on an own claim; 0 ms leaves it to others. False when it is not ours any more."""
        reply = await self._store.run(
            claim_scripts.RENEW,
            [keys.claims_key(), keys.claim_key(claim.key)],
            [claim.key, self.owner, lease_ms],
        )
        return bool(reply)

    async def take_over(self, most: int) -> list[Claim | None]:
        """Claims whose lease has run out, now ours; None for each that cannot be read."""
        reply = await self._store.run(claim_scripts.TAKE, [keys.claims_key()], [self.owner, self.times.lease_ms, most])
        claims: list[Claim | None] = []
        for record in reply:
            try:
                claims.append(decode_claim(record))
            except UnreadableRecord:
                claims.append(None)
        return claims

    def tell_watchers(self, claim: Claim) -> None:
        """Has the watchers of a claim's tickets look at them. Does not wait; who does not hear of it looks later."""
        for ticket in claim.tickets:
            told = self._store.publish(keys.ticket_channel(), ticket.ticket_id.encode())
            told.add_done_callback(lambda done: done.cancelled() or done.exception())


def _keys_of(claim: Claim, *others: str) -> list[str]:
    """The keys of a script about a claim: of all claims and of this one, the others, and those of its tickets."""
    tickets = (keys.ticket_key(ticket.ticket_id) for ticket in claim.tickets)
    return [keys.claims_key(), keys.claim_key(claim.key), *others, *tickets]


def _flat(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    return [value for row in rows for value in row]


__all__ = ["ClaimStore"]
