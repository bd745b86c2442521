"""What a player accepts, from the request to the ticket and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from matchmaking.records import MATCHED, ticket_id_for
from matchmaking.tickets import Ticket
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_engine.rules import MAX_PLAYERS, MIN_PLAYERS, RuleOptions
from rami_kit.errors import InvalidRequest, reasons, refused
from rami_wire.rules import options_from_proto, options_to_proto

if TYPE_CHECKING:
    from collections.abc import Callable

    from matchmaking.records import TicketState
    from rami_kit.auth import Caller

MAX_RULES: Final = 8
_UUID4: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)


def parse_request_id(text: str) -> UUID:
    """The id of a request. Raises InvalidRequest for anything but a UUID4 in its canonical form."""
    if _UUID4.fullmatch(text.lower()) is None:
        raise InvalidRequest("request_id", "must be a UUID version 4 in its canonical text form")
    return UUID(text)


def ticket_from_request(request: messages.CreateTicketRequest, caller: Caller, is_bot: Callable[[str], bool]) -> Ticket:
    """The ticket that a request asks for, without a skill and a time.

    Raises InvalidRequest, OptionsError for a rule option outside its range, or RamiError BOT_NOT_FOUND.
    """
    request_id = parse_request_id(request.request_id)
    criteria = request.criteria
    counts = tuple(sorted(criteria.player_counts))
    if not counts:
        raise InvalidRequest("criteria.player_counts", "must name one number of seats or more")
    if not MIN_PLAYERS <= counts[0] <= counts[-1] <= MAX_PLAYERS:
        raise InvalidRequest("criteria.player_counts", f"must be within {MIN_PLAYERS}..{MAX_PLAYERS}")
    if len(set(counts)) != len(counts):
        raise InvalidRequest("criteria.player_counts", "must not name a number twice")
    if len(criteria.rules) > MAX_RULES:
        raise InvalidRequest("criteria.rules", f"must be {MAX_RULES} at most")
    rules = [options_from_proto(options, f"criteria.rules[{number}]") for number, options in enumerate(criteria.rules)]
    if criteria.bot and not criteria.bots_allowed:
        raise InvalidRequest("criteria.bot", "must be empty where bots are not allowed")
    if criteria.bot and not is_bot(criteria.bot):
        raise refused(reasons.ERROR_REASON_BOT_NOT_FOUND, "no bot profile has this id", bot=criteria.bot)
    return Ticket(
        ticket_id=ticket_id_for(caller.player_id, request_id),
        player_id=caller.player_id,
        name=caller.name,
        player_counts=counts,
        rules=tuple(dict.fromkeys(rules)) or (RuleOptions(),),
        bots_allowed=criteria.bots_allowed,
        bot=criteria.bot,
        skill=0.0,
        create_ms=0,
    )


def ticket_message(state: TicketState) -> messages.Ticket:
    """The ticket as its player sees it."""
    message = messages.Ticket(ticket_id=state.ticket_id, state=state.state, create_time=timestamp(state.create_ms))
    ticket = state.ticket
    if ticket is not None:
        message.criteria.player_counts.extend(ticket.player_counts)
        message.criteria.rules.extend(options_to_proto(rules) for rules in ticket.rules)
        message.criteria.bots_allowed = ticket.bots_allowed
        message.criteria.bot = ticket.bot
    if state.state == MATCHED:
        message.assignment.room_id = state.room_id
        message.assignment.seat = state.seat
    return message


def timestamp(milliseconds: int) -> Timestamp:
    """A moment of the store's clock."""
    return Timestamp(seconds=milliseconds // 1000, nanos=milliseconds % 1000 * 1_000_000)


__all__ = ["parse_request_id", "ticket_from_request", "ticket_message", "timestamp"]
