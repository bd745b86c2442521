"""Options, guards, phases and results on the wire."""

from __future__ import annotations

from typing import Final

from rami.game.v1 import rules_pb2
from rami_engine import EndReason, Guards, OptionsError, Phase, RoundResult, RuleOptions

_WIRE_PHASES: Final = {
    Phase.NOT_STARTED: rules_pb2.PHASE_NOT_STARTED,
    Phase.DRAW: rules_pb2.PHASE_DRAW,
    Phase.PLAY: rules_pb2.PHASE_PLAY,
    Phase.ROUND_OVER: rules_pb2.PHASE_ROUND_OVER,
    Phase.MATCH_OVER: rules_pb2.PHASE_MATCH_OVER,
}
_PHASES: Final = {wire: phase for phase, wire in _WIRE_PHASES.items()}
_WIRE_END_REASONS: Final = {
    EndReason.WENT_OUT: rules_pb2.ROUND_END_REASON_WENT_OUT,
    EndReason.STOCK_EXHAUSTED: rules_pb2.ROUND_END_REASON_STOCK_EXHAUSTED,
    EndReason.TURN_LIMIT: rules_pb2.ROUND_END_REASON_TURN_LIMIT,
}
_END_REASONS: Final = {wire: reason for reason, wire in _WIRE_END_REASONS.items()}


def options_to_proto(options: RuleOptions) -> rules_pb2.RuleOptions:
    """The message with every default filled in."""
    return rules_pb2.RuleOptions(
        target_score=options.target_score,
        ace_high=options.ace_high,
        discard_to_win=options.discard_to_win,
    )


def options_from_proto(message: rules_pb2.RuleOptions, field: str) -> RuleOptions:
    """The engine's options; what is unset has its default.

    Raises OptionsError, naming the field below `field`, for a value outside its range.
    """
    ace_high, discard_to_win = message.ace_high, message.discard_to_win
    if not message.HasField("target_score"):
        return RuleOptions(ace_high=ace_high, discard_to_win=discard_to_win)
    try:
        return RuleOptions(message.target_score, ace_high, discard_to_win)
    except OptionsError as error:
        raise OptionsError(f"{field}.{error.field}", error.description) from error


def guards_to_proto(guards: Guards) -> rules_pb2.Guards:
    """The message of guards."""
    return rules_pb2.Guards(
        max_turns_per_round=guards.max_turns_per_round,
        max_turns_per_match=guards.max_turns_per_match,
    )


def guards_from_proto(message: rules_pb2.Guards) -> Guards:
    """The engine's guards. Raises OptionsError for a limit below 1."""
    return Guards(message.max_turns_per_round, message.max_turns_per_match)


def phase_to_proto(phase: Phase) -> rules_pb2.Phase.ValueType:
    """The enum value of a phase."""
    return _WIRE_PHASES[phase]


def phase_from_proto(value: rules_pb2.Phase.ValueType) -> Phase:
    """The engine's phase. Raises OptionsError for an unspecified or unknown one."""
    phase = _PHASES.get(value)
    if phase is None:
        raise OptionsError("phase", "must be a known phase")
    return phase


def result_to_proto(result: RoundResult) -> rules_pb2.RoundResult:
    """The message of a round's result."""
    return rules_pb2.RoundResult(
        round_number=result.number,
        reason=_WIRE_END_REASONS[result.reason],
        winner_seat=result.winner,
        points=result.points,
        hand_points=result.hand_points,
        scores=result.scores,
    )


def result_from_proto(message: rules_pb2.RoundResult) -> RoundResult:
    """The engine's result of a round. Raises OptionsError for an unspecified or unknown reason."""
    reason = _END_REASONS.get(message.reason)
    if reason is None:
        raise OptionsError("reason", "must be a known reason")
    return RoundResult(
        message.round_number,
        reason,
        message.winner_seat,
        message.points,
        tuple(message.hand_points),
        tuple(message.scores),
    )
