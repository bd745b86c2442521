"""What clients ask and are told, written down in the records of the chaos journal, which its checker reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rami.game.v1 import game_service_pb2 as pb
from rami_kit.errors import from_rpc_error
from sim.channels import Observer
from support.chaos_evidence import OK
from support.chaos_journal import Answered, Asked, Ended, Lost, Opened, Told
from support.chaos_players import outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import grpc.aio

    from sim.calls import Ending
    from sim.world import Loop
    from support.chaos_journal import Record

_GAME = "/rami.game.v1.GameService/"
_QUEUE = "/rami.matchmaking.v1.MatchmakingService/"
_STREAMS = (f"{_GAME}Play", f"{_GAME}WatchRoom")
_SUBMIT = f"{_GAME}SubmitAction"
_PROMISES: Mapping[str, Callable[[Any], object]] = {
    f"{_GAME}CreateRoom": lambda answer: answer.room.room_id,
    f"{_GAME}JoinRoom": lambda answer: (answer.room.room_id, answer.seat),
    f"{_GAME}LeaveRoom": lambda answer: answer.version,
    f"{_GAME}StartMatch": lambda answer: answer.version,
    f"{_GAME}Rematch": lambda answer: (answer.room.room_id, answer.seat),
    _SUBMIT: lambda answer: answer.event.SerializeToString(),
    f"{_QUEUE}CreateTicket": lambda answer: answer.ticket.ticket_id,
}
"""What an answer says that every other answer to the same request must say as well."""


class Journal:
    """All records of a run, in order."""

    def __init__(self, loop: Loop) -> None:
        self.records: list[Record] = []
        self.promises: list[tuple[str, object, object]] = []
        """Requests that were answered twice, and differently: who asked for what, and the two answers."""
        self.lost = False
        """The store has lost something: what it was asked before may have another answer since."""
        self._loop = loop
        self._numbers = 0

    def now(self) -> float:
        """The virtual time."""
        return self._loop.now

    def number(self) -> int:
        """A number that no other call or stream has."""
        self._numbers += 1
        return self._numbers

    def write(self, record: Record) -> None:
        """Add a record."""
        self.records.append(record)
        self.lost = self.lost or isinstance(record, Lost)


class Scribe(Observer):
    """Writes down the actions and streams of one player."""

    def __init__(self, journal: Journal, who: str) -> None:
        self._journal = journal
        self._who = who

    def asked(self, path: str, request: Any) -> object:
        if path not in _PROMISES:
            return None
        call = self._journal.number()
        if path == _SUBMIT:
            self._write_asked(request.room_id, call, request)
        return _Question(path, call)

    def answered(self, ticket: object, answer: Any, error: grpc.aio.AioRpcError | None) -> None:
        if not isinstance(ticket, _Question):
            return
        journal = self._journal
        if ticket.path == _SUBMIT:
            self._write_answered(ticket.call, answer, error)
        if error is not None or journal.lost:
            return
        promise = _PROMISES[ticket.path](answer)
        if ticket.promise is None:
            ticket.promise = promise
        elif ticket.promise != promise:
            journal.promises.append((f"{self._who}'s {ticket.path}", ticket.promise, promise))

    def _write_answered(self, call: int, answer: Any, error: grpc.aio.AioRpcError | None) -> None:
        journal = self._journal
        if error is None:
            journal.write(Answered(journal.now(), call, OK, event=answer.event.SerializeToString()))
            return
        code, reason = outcome(error)
        current = int(from_rpc_error(error).metadata.get("current_version", "-1"))
        journal.write(Answered(journal.now(), call, code, reason, current))

    def opened(self, path: str) -> object:
        return _Stream(self._journal.number()) if path in _STREAMS else None

    def said(self, ticket: object, request: Any) -> None:
        if not isinstance(ticket, _Stream):
            return
        journal = self._journal
        if isinstance(request, pb.PlayRequest) and request.HasField("action"):
            self._write_asked(ticket.room, journal.number(), request.action)
            return
        hello = request.hello if isinstance(request, pb.PlayRequest) else request
        ticket.room = hello.room_id
        journal.write(Opened(journal.now(), hello.room_id, self._who, ticket.number, hello.cursor, 0))

    def told(self, ticket: object, message: bytes) -> None:
        if isinstance(ticket, _Stream):
            self._journal.write(Told(self._journal.now(), ticket.number, message))

    def ended(self, ticket: object, ending: Ending) -> None:
        if isinstance(ticket, _Stream) and ticket.room:
            code, reason = outcome(ending.error())
            self._journal.write(Ended(self._journal.now(), ticket.number, code, reason))

    def _write_asked(self, room: str, call: int, request: Any) -> None:
        action = request.action.SerializeToString()
        self._journal.write(
            Asked(self._journal.now(), room, self._who, call, request.request_id, request.expected_version, action, 0)
        )


class _Question:
    """A unary call as it is remembered until its last answer."""

    __slots__ = ("call", "path", "promise")

    def __init__(self, path: str, call: int) -> None:
        self.path = path
        self.call = call
        self.promise: object = None


class _Stream:
    """A stream as it is written down."""

    __slots__ = ("number", "room")

    def __init__(self, number: int) -> None:
        self.number = number
        self.room = ""


__all__ = ["Journal", "Scribe"]
