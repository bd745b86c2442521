"""DecisionService: admits a request, has a worker decide it, and says in our words what went wrong.

Asked of the front alone is what is cheap: that there is a view, of the rules that are played here, and that the
bot exists. All else is checked by the worker, which parses the request anyway. Every decision is counted by bot
and outcome, refused and cancelled ones too.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from ai_decision.frames import Chosen, Failed, Invalid
from ai_decision.pool import DecisionTimeout, QueueFull, WorkersLost
from rami.ai.v1 import decision_service_pb2 as messages
from rami.ai.v1 import decision_service_pb2_grpc
from rami_bots import BOTS, Bot, UnknownBot, find_bot
from rami_engine import RULES_ID, RULES_VERSION
from rami_kit.errors import InvalidRequest, RamiError, reasons, refused

if TYPE_CHECKING:
    import grpc.aio

    from ai_decision.pool import WorkerPool
    from rami_kit.metrics import AiMetrics

RESERVE_SECONDS: Final = 0.01
"""The front stops waiting so long before the deadline, so that its answer still arrives."""
RETRY_SECONDS: Final = 0.1
"""When to come back to a full queue: a worker does several searches in this time."""
MAX_PAGE_SIZE: Final = 100

_log = logging.getLogger(__name__)


class DecisionServicer(decision_service_pb2_grpc.DecisionServiceServicer):
    """Answers over a pool of workers."""

    def __init__(self, pool: WorkerPool, metrics: AiMetrics) -> None:
        self._pool = pool
        self._metrics = metrics

    async def Decide(
        self, request: messages.DecideRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> messages.DecideResponse:
        """Chooses one of the legal actions; what it raises stands in the .proto file."""
        began = time.monotonic()
        bot = _admitted(request)
        remaining = context.time_remaining()
        assert remaining is not None, "no call without a deadline gets here"
        outcome = None
        try:
            index = await self._decide(request, bot, began + remaining - RESERVE_SECONDS)
            outcome = "ok"
        except RamiError as error:
            outcome = _OUTCOMES[error.reason]
            raise
        finally:
            seconds = time.monotonic() - began
            if outcome is None:
                # gRPC ended the call: because its client left, or at its deadline, which a busy front may notice late.
                outcome = "timeout" if seconds >= remaining else "cancelled"
            self._metrics.decisions.labels(bot.id, outcome).inc()
            self._metrics.seconds.labels(bot.id).observe(seconds)
        return messages.DecideResponse(action_index=index)

    async def ListBots(
        self, request: messages.ListBotsRequest, _context: grpc.aio.ServicerContext[Any, Any]
    ) -> messages.ListBotsResponse:
        """Lists the bots, weakest first. A page token is the number of bots before the page."""
        if not 0 <= request.page_size <= MAX_PAGE_SIZE:
            raise InvalidRequest("page_size", f"must be within 0..{MAX_PAGE_SIZE}")
        begin = _page_begin(request.page_token)
        end = begin + (request.page_size or MAX_PAGE_SIZE)
        return messages.ListBotsResponse(
            bots=[
                messages.Bot(bot=bot.id, display_name=bot.display_name, description=bot.description)
                for bot in BOTS[begin:end]
            ],
            next_page_token=str(end) if end < len(BOTS) else "",
        )

    async def _decide(self, request: messages.DecideRequest, bot: Bot, deadline: float) -> int:
        try:
            answer = await self._pool.decide(request.SerializeToString(), deadline, quick=bot.quick)
        except QueueFull:
            raise refused(
                reasons.ERROR_REASON_DECISION_QUEUE_FULL,
                "the queue of decisions is full",
                retry_after_seconds=RETRY_SECONDS,
            ) from None
        except DecisionTimeout:
            raise refused(
                reasons.ERROR_REASON_DECISION_TIMEOUT, "no decision could be made before the deadline"
            ) from None
        except WorkersLost:
            raise RamiError(reasons.ERROR_REASON_INTERNAL, "workers died of a decision") from None
        match answer:
            case Chosen(place):
                return place
            case Invalid(field, description):
                raise InvalidRequest(field, description)
            case Failed(traceback):
                _log.error("a worker could not decide", extra={"traceback": traceback})
                raise RamiError(reasons.ERROR_REASON_INTERNAL, "a worker could not decide")


_OUTCOMES: Final = {
    reasons.ERROR_REASON_DECISION_QUEUE_FULL: "queue_full",
    reasons.ERROR_REASON_DECISION_TIMEOUT: "timeout",
    reasons.ERROR_REASON_INVALID_REQUEST: "invalid",
    reasons.ERROR_REASON_INTERNAL: "failed",
}
"""How decisions that fail are counted."""


def _admitted(request: messages.DecideRequest) -> Bot:
    """The bot that is asked for. Raises RamiError for what the front can tell to be wrong."""
    if not request.HasField("view"):
        raise InvalidRequest("view", "must be set")
    if request.view.rules_id != RULES_ID or request.view.rules_version != RULES_VERSION:
        raise refused(
            reasons.ERROR_REASON_RULES_VERSION_MISMATCH,
            f"this service plays {RULES_ID} {RULES_VERSION}",
            rules_id=RULES_ID,
            rules_version=RULES_VERSION,
        )
    try:
        return find_bot(request.bot)
    except UnknownBot:
        raise refused(reasons.ERROR_REASON_BOT_NOT_FOUND, "no bot has this id", bot=request.bot) from None


def _page_begin(token: str) -> int:
    """The number of bots before a page. Raises InvalidRequest for a token that no page gave out."""
    if not token:
        return 0
    if token.isascii() and token.isdigit() and len(token) <= len(str(len(BOTS))) and 0 < int(token) < len(BOTS):
        return int(token)
    raise InvalidRequest("page_token", "must be from the previous answer")
