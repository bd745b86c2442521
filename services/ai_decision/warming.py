"""What a worker does before it takes jobs: decide once for every bot, so that no job pays for first times."""

from __future__ import annotations

from ai_decision.deciding import decide
from ai_decision.frames import Chosen
from rami.ai.v1 import decision_service_pb2
from rami_bots import BOTS
from rami_engine import (
    DECK_SIZE,
    DRAW_STOCK,
    Guards,
    RuleOptions,
    apply,
    legal_actions,
    new_match,
    seat_view,
    start_round,
)
from rami_wire import action_to_proto, view_to_proto


def sample_request(bot: str) -> decision_service_pb2.DecideRequest:
    """A request for the first play of a round with an unshuffled deck."""
    match = new_match(2, RuleOptions(), Guards())
    # Steps of 5 go through the whole deck and give nobody a meld at once.
    turn = start_round(match, bytes(5 * place % DECK_SIZE for place in range(DECK_SIZE))).turn
    apply(match, turn, DRAW_STOCK)
    return decision_service_pb2.DecideRequest(
        view=view_to_proto(seat_view(match, turn)),
        legal_actions=[action_to_proto(action) for action in legal_actions(match, turn)],
        bot=bot,
    )


def warm_up() -> None:
    """Decide once for every bot. Raises RuntimeError when that goes wrong: the worker is no good."""
    for bot in BOTS:
        answer = decide(sample_request(bot.id).SerializeToString(), lambda: False)
        if not isinstance(answer, Chosen):
            raise RuntimeError(f"{bot.id} does not decide: {answer}")  # noqa: TRY004 - no caller's type is wrong
