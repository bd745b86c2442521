"""Traces and logs: one trace from a client's action to the delivery of what followed, and nothing hidden in it."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from game_state.config import GameSettings
from integration.ai.serving import serving
from rami.game.v1 import game_service_pb2 as pb
from rami_client import Client, NotFoundError
from rami_engine import DRAW_STOCK
from rami_kit import tracing
from rami_kit.logs import configure_logging
from rami_kit.settings import SettingsError
from rami_kit.testing import make_settings, player_token
from rami_wire import action_to_proto
from support.game_cluster import game_cluster, request_id, room_options
from support.game_streams import PlayStream, Watch
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

    from support.game_bots import FakeBots
    from support.game_cluster import Cluster

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class Spans:
    """The spans that have ended so far."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()

    def of(self, trace: str) -> list[ReadableSpan]:
        ended = self.exporter.get_finished_spans()
        return [span for span in ended if span.context and f"{span.context.trace_id:032x}" == trace]

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def names(self, trace: str) -> set[str]:
        return {span.name for span in self.of(trace)}


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """Everything in this process is traced, and spans are seen as soon as they end."""
    from opentelemetry.sdk.trace import export

    monkeypatch.setattr(export, "BatchSpanProcessor", export.SimpleSpanProcessor)
    seen = Spans()
    stop = tracing.trace_to(seen.exporter, "test")
    yield seen
    stop()
    assert not tracing.is_tracing()


async def test_one_trace_leads_from_an_action_to_the_bots_and_the_watchers(spans: Spans, store_url: str) -> None:
    async with (
        serving(workers=1) as ai,
        game_cluster(store_url, 2, ai_address=f"127.0.0.1:{ai.app.port}") as cluster,
    ):
        ann, elsewhere = cluster.player("ann"), cluster.player("ann", 1)
        room = await ann.create(room_options(2, bot_pace=0), {1: "easy"})
        async with Watch(elsewhere, room.room_id) as watch:
            await watch.read()
            await ann.start(room.room_id)
            legal = (await ann.view(room.room_id)).legal_actions
            drawn = await ann.submit(room.room_id, legal.version, action_to_proto(DRAW_STOCK))
            legal = (await ann.view(room.room_id)).legal_actions
            request = pb.SubmitActionRequest(
                request_id=request_id(),
                room_id=room.room_id,
                expected_version=drawn.event.version,
                action=legal.actions[-1],
            )
            await ann.stub.SubmitAction(request, timeout=30, metadata=(*ann.metadata, ("traceparent", PARENT)))
            await watch.until_version(drawn.event.version + 2)
            await eventually(
                lambda: {"rami.game.v1.GameService/SubmitAction", "commit", "decide", "deliver"} <= spans.names(TRACE),
                "every part of it is traced",
            )
    roots = [span for span in spans.of(TRACE) if span.parent and f"{span.parent.span_id:016x}" == PARENT.split("-")[2]]
    assert [span.name for span in roots] == ["rami.game.v1.GameService/SubmitAction"]
    decisions = [span for span in spans.of(TRACE) if span.name == "decide"]
    assert len({span.context.span_id for span in decisions if span.context}) >= 2, "the game's and the AI service's"
    for delivery in (span for span in spans.of(TRACE) if span.name == "deliver"):
        assert delivery.start_time is not None
        assert delivery.end_time is not None
        assert 0 <= delivery.end_time - delivery.start_time < 60 * 10**9, "from the step to its hand-over"


def test_what_has_taken_its_time_is_as_long_as_it_took(spans: Spans) -> None:
    tracing.past_span("deliver", PARENT, 1.5, room="p0-a", version=7)
    (past,) = spans.of(TRACE)
    assert past.start_time is not None
    assert past.end_time is not None
    assert past.end_time - past.start_time == 1_500_000_000
    assert past.parent is not None
    assert f"{past.parent.span_id:016x}" == PARENT.split("-")[2]
    assert past.attributes == {"rami.room": "p0-a", "rami.version": 7}


@pytest.mark.parametrize(
    ("given", "kept"), [(PARENT, True), ("", False), ("00-nonsense", False), ("x" * 10_000, False)]
)
async def test_an_action_on_play_goes_on_with_its_own_trace(
    spans: Spans, game: Cluster, given: str, kept: bool
) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(2, bot_pace=0), {1: "easy"})
    async with PlayStream(ann, room.room_id) as stream:
        await ann.start(room.room_id)
        await stream.until(lambda: bool(stream.mirror.legal_actions))
        action = pb.PlayAction(
            request_id=request_id(),
            expected_version=stream.version,
            action=action_to_proto(DRAW_STOCK),
            trace_parent=given,
        )
        await stream.call.write(pb.PlayRequest(action=action))
        await stream.until_version(stream.version + 1)
    await eventually(lambda: bool(spans.named("play-action")), "the action's span has ended")
    played = spans.named("play-action")
    assert len(played) == 1
    assert (played[0] in spans.of(TRACE)) == kept
    assert played[0].attributes == {"rami.room": room.room_id}


async def test_a_refused_call_is_a_failed_span_that_names_the_reason(spans: Spans, game: Cluster) -> None:
    async with Client.connect(game=f"127.0.0.1:{game.apps[0].port}", token=player_token("ada")) as client:
        with pytest.raises(NotFoundError):
            await client.get_room("p0-aaaaaaaaaaaaaaaa")
    # The client may be told before the handler, and with it the span, has ended.
    await eventually(lambda: bool(spans.named("rami.game.v1.GameService/GetRoom")), "the call's span has ended")
    (failed,) = spans.named("rami.game.v1.GameService/GetRoom")
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description == "ROOM_NOT_FOUND"
    assert not failed.events


async def test_nothing_is_stored_or_sent_where_nothing_is_traced(game: Cluster, bots: FakeBots) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(2, bot_pace=0), {0: "easy"}, observe=False)
    await ann.start(room.room_id)
    await eventually(lambda: bool(bots.requests), "a bot is asked")
    assert tracing.trace_parent() == ""
    assert tracing.traced(()) == ()
    with tracing.span("nothing", PARENT):
        assert tracing.trace_id() == ""
    tracing.past_span("nothing", PARENT, 1.0)


@pytest.mark.usefixtures("spans")
async def test_lines_name_trace_player_and_room(
    game: Cluster, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect in the middle of an action."""
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    configure_logging("INFO", "game")
    try:
        ann = game.player("ann")
        room = await ann.create(room_options(2), {1: "easy"})
        await ann.start(room.room_id)

        def broken(*_: object) -> None:
            raise RuntimeError("broken")

        monkeypatch.setattr("game_state.match.play", broken)
        async with PlayStream(ann, room.room_id) as stream:
            await stream.until(lambda: bool(stream.mirror.legal_actions))
            result = await stream.act(DRAW_STOCK)
            assert result.HasField("error")
    finally:
        logging.getLogger().handlers[:] = handlers
        logging.getLogger().setLevel(level)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line["message"] == "playing an action failed"]
    assert line["room_id"] == room.room_id
    assert line["player_id"] == ann.id
    assert len(line["trace_id"]) == 32


def test_a_collector_without_opentelemetry_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = make_settings(GameSettings, "redis://127.0.0.1:1/0", tracing_endpoint="http://127.0.0.1:1")
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.grpc.trace_exporter", None)
    with pytest.raises(SettingsError, match=r"rami\[tracing\]"):
        tracing.start_tracing(settings, "game")
