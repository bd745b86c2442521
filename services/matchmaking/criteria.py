"""What a player accepts, from the request to the ticket and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from matchmaking.records import FORMING, MATCHED, ticket_id_for
from matchmaking.tickets import DEFAULT_TEMPO, MAX_ROUND_INTERVAL_MS, MAX_TURN_LIMIT_MS, Tempo, Ticket
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_engine.rules import MAX_PLAYERS, MIN_PLAYERS, RuleOptions
from rami_kit.auth import PLAYER_ID_LENGTH
from rami_kit.errors import InvalidRequest, reasons, refused
from rami_kit.request_ids import require_request_id
from rami_kit.spans import span_ms
from rami_wire.rules import options_from_proto, options_to_proto

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from google.protobuf.duration_pb2 import Duration

    from matchmaking.records import TicketState
    from rami.game.v1 import rules_pb2
    from rami_kit.auth import Caller

MAX_RULES: Final = 8
MAX_ATTRIBUTES: Final = 16
MAX_ATTRIBUTE_KEY: Final = 64
MAX_ATTRIBUTE_BYTES: Final = 2_048
_PLAYER_ID: Final = re.compile(rf"[a-z2-7]{{{PLAYER_ID_LENGTH}}}", re.ASCII)


def ticket_from_request(request: messages.CreateTicketRequest, caller: Caller, is_bot: Callable[[str], bool]) -> Ticket:
    """The ticket that a request asks for, without a skill, a time and the other members of a party.

    Raises InvalidRequest, OptionsError for a rule option outside its range, or RamiError BOT_NOT_FOUND.
    """
    request_id = UUID(require_request_id(request.request_id))
    criteria = request.criteria
    if not criteria.player_counts:
        raise InvalidRequest("criteria.player_counts", "must name one number of seats or more")
    counts = parse_counts(criteria.player_counts, "criteria.player_counts")
    party = parse_party(request.party_player_ids, caller)
    if counts[0] <= len(party):
        raise InvalidRequest("criteria.player_counts", "must not be below the size of the party")
    check_attributes(request.attributes)
    rules = parse_rules(criteria.rules, "criteria.rules")
    for name, bot in (("bot", criteria.bot), ("weakest_bot", criteria.weakest_bot)):
        if bot and not criteria.bots_allowed:
            raise InvalidRequest(f"criteria.{name}", "must be empty where bots are not allowed")
        if bot and not is_bot(bot):
            raise refused(reasons.ERROR_REASON_BOT_NOT_FOUND, "no bot profile has this id", bot=bot)
    if criteria.bot and criteria.weakest_bot:
        raise InvalidRequest("criteria.weakest_bot", "must be empty where one bot is asked for")
    return Ticket(
        ticket_id=ticket_id_for(caller.player_id, request_id),
        player_id=caller.player_id,
        name=caller.name,
        player_counts=counts,
        rules=rules,
        bots_allowed=criteria.bots_allowed,
        bot=criteria.bot,
        skill=0.0,
        create_ms=0,
        weakest_bot=criteria.weakest_bot,
        tempo=parse_tempo(criteria, "criteria."),
    )


def parse_tempo(message: messages.TicketCriteria | messages.GetQueueRequest, prefix: str = "") -> Tempo:
    """How fast a table is to play. Raises InvalidRequest for a field beyond its bounds, `prefix` before its name."""
    if not (message.HasField("turn_time_limit") or message.HasField("round_interval")):
        return DEFAULT_TEMPO
    turn_limit_ms = DEFAULT_TEMPO.turn_limit_ms
    if message.HasField("turn_time_limit"):
        turn_limit_ms = span_ms(message.turn_time_limit, f"{prefix}turn_time_limit", MAX_TURN_LIMIT_MS)
    return Tempo(turn_limit_ms, span_ms(message.round_interval, f"{prefix}round_interval", MAX_ROUND_INTERVAL_MS))


def parse_counts(player_counts: Sequence[int], field: str) -> tuple[int, ...]:
    """Numbers of seats, ascending. Raises InvalidRequest for `field`."""
    counts = tuple(sorted(player_counts))
    if counts and not MIN_PLAYERS <= counts[0] <= counts[-1] <= MAX_PLAYERS:
        raise InvalidRequest(field, f"must be within {MIN_PLAYERS}..{MAX_PLAYERS}")
    if len(set(counts)) != len(counts):
        raise InvalidRequest(field, "must not name a number twice")
    return counts


def parse_rules(options_list: Sequence[rules_pb2.RuleOptions], field: str) -> tuple[RuleOptions, ...]:
    """Rule options, none twice; the defaults where there are none. Raises InvalidRequest or OptionsError."""
    if len(options_list) > MAX_RULES:
        raise InvalidRequest(field, f"must be {MAX_RULES} at most")
    rules = [options_from_proto(options, f"{field}[{number}]") for number, options in enumerate(options_list)]
    return tuple(dict.fromkeys(rules)) or (RuleOptions(),)


def parse_party(player_ids: Sequence[str], caller: Caller) -> tuple[str, ...]:
    """The other members of a party. Raises InvalidRequest."""
    if not player_ids:
        return ()
    if len(player_ids) >= MAX_PLAYERS:
        raise InvalidRequest("party_player_ids", f"must be {MAX_PLAYERS - 1} at most")
    if any(_PLAYER_ID.fullmatch(one) is None for one in player_ids):
        raise InvalidRequest("party_player_ids", "must be ids of players")
    if len({caller.player_id, *player_ids}) != len(player_ids) + 1:
        raise InvalidRequest("party_player_ids", "must name nobody twice, and not the caller")
    return tuple(player_ids)


def check_attributes(attributes: Mapping[str, str]) -> None:
    """Raises InvalidRequest for more than is kept with a ticket."""
    if not attributes:
        return
    if len(attributes) > MAX_ATTRIBUTES:
        raise InvalidRequest("attributes", f"must be {MAX_ATTRIBUTES} at most")
    if any(not 1 <= len(key) <= MAX_ATTRIBUTE_KEY for key in attributes):
        raise InvalidRequest("attributes", f"must have keys of 1 to {MAX_ATTRIBUTE_KEY} characters")
    if sum(len(key.encode()) + len(value.encode()) for key, value in attributes.items()) > MAX_ATTRIBUTE_BYTES:
        raise InvalidRequest("attributes", f"must have {MAX_ATTRIBUTE_BYTES} bytes at most in all")


def ticket_message(state: TicketState, player_id: str) -> messages.Ticket:
    """The ticket as one of its players sees it."""
    message = messages.Ticket(ticket_id=state.ticket_id, state=state.state, cancelled_by=state.cancelled_by)
    _set_moment(message.create_time, state.create_ms)
    ticket = state.ticket
    if ticket is not None:
        criteria, tempo = message.criteria, ticket.tempo
        criteria.player_counts.extend(ticket.player_counts)
        criteria.rules.extend(map(options_to_proto, ticket.rules))
        criteria.bots_allowed, criteria.bot, criteria.weakest_bot = ticket.bots_allowed, ticket.bot, ticket.weakest_bot
        _set_span(criteria.turn_time_limit, tempo.turn_limit_ms)
        _set_span(criteria.round_interval, tempo.round_interval_ms)
        if len(state.player_ids) > 1:
            message.party.add(player_id=ticket.player_id, display_name=ticket.name, confirmed=True)
    for member in state.player_ids[1:]:
        message.party.add(
            player_id=member, display_name=state.confirmed.get(member, ""), confirmed=member in state.confirmed
        )
    if state.attributes and state.player_ids[:1] == (player_id,):
        message.attributes.update(state.attributes)
    if state.state == FORMING:
        _set_moment(message.confirm_by_time, state.confirm_by_ms)
    if state.state == MATCHED:
        message.assignment.room_id = state.room_id
        message.assignment.seat = state.seat_of(player_id)
    return message


def timestamp(milliseconds: int) -> Timestamp:
    """A moment of the store's clock."""
    moment = Timestamp()
    _set_moment(moment, milliseconds)
    return moment


def _set_moment(moment: Timestamp, milliseconds: int) -> None:
    """As `timestamp`, into a message that there is."""
    moment.seconds, moment.nanos = milliseconds // 1000, milliseconds % 1000 * 1_000_000


def _set_span(span: Duration, milliseconds: int) -> None:
    """Writes a span, which is set also when it is 0."""
    span.SetInParent()
    span.seconds, span.nanos = milliseconds // 1000, milliseconds % 1000 * 1_000_000


__all__ = [
    "parse_counts",
    "parse_party",
    "parse_rules",
    "parse_tempo",
    "ticket_from_request",
    "ticket_message",
    "timestamp",
]
