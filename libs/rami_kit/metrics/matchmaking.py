"""What the matchmaking service writes: tickets, matches, ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami_kit.instruments import counter, gauge, histogram
from rami_kit.metrics.buckets import MATCH_QUALITY, RPC_SECONDS, SPREAD_POINTS, WAIT_SECONDS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class MatchmakingMetrics:
    """Tickets, matches and ratings; written by the matchmaking service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.tickets = gauge(
            registry,
            "rami_matchmaking_live_tickets",
            "Live tickets: forming (parties that wait for members) and waiting as this replica sees the queue, claimed "
            "as this replica holds them.",
            "state",
        )
        self.ticket_events = counter(
            registry,
            "rami_matchmaking_tickets_total",
            "What became of tickets: created, matched, cancelled, expired, put_back.",
            "event",
        )
        self.wait_seconds = histogram(
            registry,
            "rami_matchmaking_wait_seconds",
            "Time from a ticket to its end, by pool (seats of the table, 0 for none; rules: default, other, none) and "
            "outcome: people, bots, cancelled, expired.",
            "seats",
            "rules",
            "outcome",
            buckets=WAIT_SECONDS,
        )
        self.match_quality = histogram(
            registry,
            "rami_matchmaking_match_quality_ratio",
            "How even the tables are: 1 is a coin toss between the best and the weakest player.",
            buckets=MATCH_QUALITY,
        )
        self.match_spread = histogram(
            registry,
            "rami_matchmaking_match_spread_points",
            "Rating points between the best and the weakest player of a table.",
            buckets=SPREAD_POINTS,
        )
        self.matches = counter(
            registry,
            "rami_matchmaking_matches_total",
            "Tables by outcome: people, bots, refused (no room), conflict (another replica was first).",
            "outcome",
        )
        self.claims_resumed = counter(
            registry,
            "rami_matchmaking_claims_resumed_total",
            "Claims taken over because the lease of their process had run out.",
        )
        self.pass_seconds = histogram(
            registry,
            "rami_matchmaking_pass_seconds",
            "Time that the matcher computes in one pass over the queue.",
            buckets=RPC_SECONDS,
        )
        self.passes_failed = counter(
            registry,
            "rami_matchmaking_passes_failed_total",
            "Passes over the queue that failed, by cause: store, defect.",
            "cause",
        )
        self.unreadable = counter(
            registry,
            "rami_matchmaking_unreadable_records_total",
            "Stored records that could not be read and were left out, by kind.",
            "kind",
        )
        self.rating_updates = counter(
            registry,
            "rami_matchmaking_rating_updates_total",
            "Finished matches by what ratings made of them: rated, duplicate, abandoned, no_winner, bots_only, "
            "unmatched, too_old, unreadable; failed ones are tried again.",
            "outcome",
        )
        self.guests = counter(registry, "rami_matchmaking_guests_total", "Guests signed in.")
        self.watchers = gauge(registry, "rami_matchmaking_watchers", "Open watches of tickets, and cancels that wait.")

    def prepare(self) -> None:
        """Shows zeros for what may happen: see the help texts."""
        self.tickets.prepare(("forming", "waiting", "claimed"))
        self.ticket_events.prepare(("created", "matched", "cancelled", "expired", "put_back"))
        self.wait_seconds.prepare(("2", "3", "4"), ("default", "other"), ("people", "bots"))
        self.wait_seconds.prepare(("0",), ("none",), ("cancelled", "expired"))
        self.matches.prepare(("people", "bots", "refused", "conflict"))
        self.passes_failed.prepare(("store", "defect"))
        self.unreadable.prepare(("claim", "ticket"))
        self.rating_updates.prepare(
            (
                *("rated", "duplicate", "abandoned", "no_winner", "bots_only"),
                *("unmatched", "too_old", "unreadable", "failed"),
            )
        )


__all__ = ["MatchmakingMetrics"]
