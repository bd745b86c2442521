"""DecisionService: admits a request, has a worker decide it, and says in our words what went wrong.

Asked of the front alone is what is cheap: that there is a view, of the rules that are played here, and that the
bot exists. All else is checked by the worker, which parses the request anyway. Every decision is counted by bot
and outcome, refused and cancelled ones too, whether it came as a call or over a stream.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from ai_decision.decision_stream import DecisionStream
from ai_decision.frames import Chosen, Failed, Invalid
from ai_decision.pool import DecisionTimeout, WorkersLost
from ai_decision.queue import QueueFull
from rami.ai.v1 import decision_service_pb2 as messages
from rami.ai.v1 import decision_service_pb2_grpc
from rami_bots import BOTS, Bot, UnknownBot, find_bot
from rami_engine import RULES_ID, RULES_VERSION
from rami_kit.errors import INTERNAL_TEXT, InvalidRequest, RamiError, reasons, refused, to_status
from rami_kit.interceptor import DEADLINE_SLACK_SECONDS
from rami_kit.paging import page_size, wrong_page_token
from rami_kit.tracing import span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    import grpc.aio

    from ai_decision.pool import WorkerPool
    from rami_kit.metrics import AiMetrics

RESERVE_SECONDS: Final = 0.01
"""The front stops waiting so long before the deadline, so that its answer still arrives."""
RETRY_SECONDS: Final = 0.1
"""When to come back to a full queue: a worker does several searches in this time."""
MAX_PAGE_SIZE: Final = 100
MAX_DEADLINE_SECONDS: Final = 60

_log = logging.getLogger(__name__)


class DecisionServicer(decision_service_pb2_grpc.DecisionServiceServicer):
    """Answers over a pool of workers."""

    def __init__(self, pool: WorkerPool, metrics: AiMetrics) -> None:
        self._pool = pool
        self._metrics = metrics
        self._streams: set[DecisionStream] = set()
        self._draining = False
        levels = [bot.id for bot in BOTS]
        metrics.decisions.prepare(levels, ("ok", "cancelled", *_OUTCOMES.values()))
        metrics.seconds.prepare(levels)

    def drain(self) -> None:
        """Take nothing more over streams: they end when what they have taken is answered, and new ones at once."""
        self._draining = True
        for stream in self._streams:
            stream.drain()

    async def Decide(
        self, request: messages.DecideRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> messages.DecideResponse:
        """Chooses one of the legal actions; what it raises stands in the .proto file."""
        remaining = context.time_remaining()
        assert remaining is not None, "no call without a deadline gets here"
        return await self._counted(request, remaining)

    async def DecideMany(
        self, requests: AsyncIterator[messages.DecideManyRequest], _context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncGenerator[messages.DecideManyResponse]:
        """Decides what comes over a stream, everything at once; ends when all is answered that was asked."""
        stream = DecisionStream(self._answer)
        self._streams.add(stream)
        if self._draining:  # its call had come before the port was closed
            stream.drain()
        try:
            async for response in stream.responses(requests):
                yield response
        finally:
            self._streams.discard(stream)

    async def ListBots(
        self, request: messages.ListBotsRequest, _context: grpc.aio.ServicerContext[Any, Any]
    ) -> messages.ListBotsResponse:
        """Lists the bots, weakest first. A page token is the number of bots before the page."""
        size = page_size(request.page_size, MAX_PAGE_SIZE, MAX_PAGE_SIZE)
        begin = _page_begin(request.page_token)
        end = begin + size
        return messages.ListBotsResponse(
            bots=[
                messages.Bot(bot=bot.id, display_name=bot.display_name, description=bot.description)
                for bot in BOTS[begin:end]
            ],
            next_page_token=str(end) if end < len(BOTS) else "",
        )

    async def _answer(self, one: messages.DecideManyRequest) -> messages.DecideManyResponse:
        """The answer to one request of a stream; what would end a call is told in it."""
        response = messages.DecideManyResponse(call_id=one.call_id)
        try:
            with span("decide", one.trace_parent, bot=one.request.bot):
                response.decision.CopyFrom(await self._counted(one.request, _timeout_seconds(one)))
        except RamiError as error:
            response.error.CopyFrom(to_status(error))
        except Exception:  # noqa: BLE001 - a defect in one decision is told as INTERNAL and logged whole
            _log.exception("answering a decision failed")
            response.error.CopyFrom(to_status(RamiError(reasons.ERROR_REASON_INTERNAL, INTERNAL_TEXT)))
        return response

    async def _counted(self, request: messages.DecideRequest, remaining: float) -> messages.DecideResponse:
        """The choice within the seconds that remain; counted and timed whatever comes of it."""
        began = time.monotonic()
        bot = _admitted(request)
        outcome = None
        try:
            response = await self._decide(request, bot, began + remaining - RESERVE_SECONDS)
            outcome = "ok"
        except RamiError as error:
            outcome = _OUTCOMES[error.reason]
            raise
        finally:
            seconds = time.monotonic() - began
            if outcome is None:
                # Ended from outside: because the client left, or at the deadline, which a busy front may notice late.
                outcome = "timeout" if seconds >= remaining - DEADLINE_SLACK_SECONDS else "cancelled"
            self._metrics.decisions.labels(bot.id, outcome).inc()
            self._metrics.seconds.labels(bot.id).observe(seconds)
        return response

    async def _decide(self, request: messages.DecideRequest, bot: Bot, deadline: float) -> messages.DecideResponse:
        people = request.service_class != messages.SERVICE_CLASS_BOTS_ONLY
        try:
            answer = await self._pool.decide(request.SerializeToString(), deadline, quick=bot.quick, people=people)
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
            case Chosen(place, weighed):
                return messages.DecideResponse(
                    action_index=place,
                    candidates=[
                        messages.Candidate(action_index=one, points=points, deals=deals)
                        for one, points, deals in weighed
                    ],
                )
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


def _timeout_seconds(one: messages.DecideManyRequest) -> float:
    """How long the caller of one decision waits. Raises InvalidRequest outside of what is possible."""
    seconds = one.timeout.seconds + one.timeout.nanos / 1e9
    if not 0 < seconds <= MAX_DEADLINE_SECONDS:
        raise InvalidRequest("timeout", f"must be more than 0 s and {MAX_DEADLINE_SECONDS} s at most")
    return seconds


def _page_begin(token: str) -> int:
    """The number of bots before a page. Raises InvalidRequest for a token that no page gave out."""
    if not token:
        return 0
    if token.isascii() and token.isdigit() and len(token) <= len(str(len(BOTS))) and 0 < int(token) < len(BOTS):
        return int(token)
    raise wrong_page_token()
