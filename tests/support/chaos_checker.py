"""The checker of chaos runs: reads a journal and says what must never have happened, if it did.

It knows nothing of how the services work: only what the contract promises. Acknowledged is for ever, once and as it
was asked; a watcher gets every step once and in order; a record verifies; a match goes on. Where a store may lose its
latest commits, what was lost is allowed to be missing, and whoever held it must have been told by a snapshot marked
`rewound`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from rami.game.v1 import event_pb2
from support.chaos_evidence import gather
from support.chaos_journal import read_journal
from support.chaos_watching import check_streams

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from support.chaos_evidence import Answer, Evidence, Request, RoomEvidence
    from support.chaos_journal import Record


_SOURCES: Mapping[int, str] = {
    number: name.removeprefix("ACTION_SOURCE_").lower() for name, number in event_pb2.ActionSource.items()
}
_DEFECTS = frozenset({"INTERNAL", "UNKNOWN", "DATA_LOSS", "UNIMPLEMENTED"})


class Fault(StrEnum):
    """What can be wrong with a run."""

    LOST_ACTION = "an acknowledged action is missing from the record"
    CHANGED_ACTION = "an acknowledged action stands in the record with another version or content"
    DOUBLED_ACTION = "an action was applied that nobody asked for on its version"
    REFUSED_YET_APPLIED = "an action that was refused for good has been applied"
    FALSE_REFUSAL = "an action was refused for a reason that cannot be true"
    SILENT_LOSS = "a player whose acknowledged action was lost has not been told"
    SKIPPED_STEP = "a watcher missed a step"
    DOUBLED_STEP = "a watcher got a step twice"
    CONTRADICTION = "a watcher was told what did not happen"
    FALSE_REWIND = "a watcher was told of a loss that cannot have been"
    SILENT_REWIND = "a watcher was led from a lost past into the record without being told"
    LEFT_BEHIND = "a watcher has not been told of the last step"
    BAD_RECORD = "the record of a room does not verify"
    NO_RECORD = "the record of a room is missing"
    BAD_FINISH = "a match that has ended was not passed on exactly once"
    STALLED = "a match did not go on in time"
    DEFECT = "a call ended as only a defect lets it end"


class Finding(NamedTuple):
    """One thing that is wrong."""

    fault: Fault
    room: str
    text: str

    def __str__(self) -> str:
        return f"{self.room}: {self.fault}: {self.text}"


@dataclass(slots=True)
class Report:
    """What the checker has to say about a run."""

    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """What happened and is no fault: how many actions, repeats, losses, rewinds."""

    @property
    def faults(self) -> set[Fault]:
        """The kinds of what is wrong."""
        return {finding.fault for finding in self.findings}

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings[:20]]
        if len(self.findings) > len(lines):
            lines.append(f"and {len(self.findings) - len(lines)} more")
        return "\n".join([*lines, ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))])


def check_file(path: Path) -> Report:
    """Check the journal in a file."""
    return check(read_journal(path))


def check(records: Iterable[Record]) -> Report:
    """Check the records of a run. Losses are allowed exactly where the journal has a Lost before them."""
    evidence = gather(records)
    report = Report()
    report.counts["kills"] = evidence.kills
    for room in evidence.rooms.values():
        if room.truth is None:
            report.findings.append(Finding(Fault.NO_RECORD, room.room, "nobody could read it in the end"))
            continue
        _check_record(report, room)
        _check_requests(report, room, evidence)
        for stream in room.streams:
            if stream.code in _DEFECTS:
                report.findings.append(Finding(Fault.DEFECT, room.room, f"{stream.who}'s stream: {stream.code}"))
        for trouble in check_streams(room, evidence, report.counts):
            report.findings.append(Finding(Fault[trouble.fault], room.room, trouble.text))
    _check_finished(report, evidence)
    _check_liveness(report, evidence)
    return report


def _check_record(report: Report, room: RoomEvidence) -> None:
    truth = room.truth
    assert truth is not None
    if truth.flaw:
        report.findings.append(Finding(Fault.BAD_RECORD, room.room, truth.flaw))
    for version in truth.repeated_versions:
        report.findings.append(Finding(Fault.BAD_RECORD, room.room, f"two actions have made version {version}"))
    report.counts["rounds in records"] += len(truth.replay.rounds)
    if truth.replay.header.HasField("result"):
        report.counts["matches that ended"] += 1
    people = {seat: who for who, seat in room.seats.items()}
    asked = {(request.who, request.expected_version, request.action) for request in room.requests.values()}
    for played in truth.played.values():
        report.counts[f"actions by the {_SOURCES[played.source]}"] += 1
        if played.source != event_pb2.ACTION_SOURCE_PLAYER:
            continue
        if (people.get(played.seat, ""), played.version - 1, played.action) not in asked:
            text = f"seat {played.seat} has one at version {played.version}"
            report.findings.append(Finding(Fault.DOUBLED_ACTION, room.room, text))


def _check_requests(report: Report, room: RoomEvidence, evidence: Evidence) -> None:
    for request in room.requests.values():
        report.counts["actions asked for"] += 1
        if len(request.answers) > 1 or len(request.asked_at) > 1:
            report.counts["actions asked for more than once"] += 1
        for answer in request.answers:
            if answer.code in _DEFECTS:
                _find(report, Fault.DEFECT, request, f"{answer.code} {answer.reason}")
        _check_accepted(report, room, request, evidence)
        _check_refused(report, room, request, evidence)
        if not request.accepted:
            applied = _is_applied(room, request) and not request.refused
            uncertain = "actions without a final answer" if not request.refused else "actions refused for good"
            report.counts["actions applied but never acknowledged" if applied else uncertain] += 1


def _check_accepted(report: Report, room: RoomEvidence, request: Request, evidence: Evidence) -> None:
    """An acknowledged action stands in the record as it was asked for, where it was said to stand."""
    truth = room.truth
    assert truth is not None
    twins = [other for other in room.requests.values() if other is not request and _both_accepted(request, other)]
    for answer in request.accepted:
        recorded = truth.played.get(answer.version)
        if answer.version != request.expected_version + 1:
            _find(report, Fault.CHANGED_ACTION, request, f"acknowledged as version {answer.version}")
        elif _is_applied(room, request):
            report.counts["acknowledgements that stand"] += 1
            if twins and not evidence.acknowledged_losses:
                _find(report, Fault.LOST_ACTION, request, f"version {answer.version} is also {twins[0]}")
        elif any(loss > request.asked_at[0] for loss in evidence.acknowledged_losses):
            report.counts["acknowledged actions lost with the store"] += 1
            if not _was_told_of_loss(room, request, answer):
                _find(report, Fault.SILENT_LOSS, request, "no stream of the player was rewound afterwards")
        elif recorded is None:
            _find(report, Fault.LOST_ACTION, request, f"acknowledged as version {answer.version}")
        else:
            text = f"version {answer.version} is seat {recorded.seat}'s {recorded.action.hex()}"
            _find(report, Fault.CHANGED_ACTION, request, text)


def _both_accepted(request: Request, other: Request) -> bool:
    """Whether two requests were acknowledged as one version: the record has only one of them."""
    return other.expected_version == request.expected_version and bool(request.accepted and other.accepted)


def _was_told_of_loss(room: RoomEvidence, request: Request, answer: Answer) -> bool:
    """Whether the player got a snapshot marked rewound after the acknowledgement that came to nothing."""
    return any(
        at > answer.at and message.snapshot.rewound
        for stream in room.streams
        if stream.who == request.who
        for at, message in stream.messages
    )


def _check_refused(report: Report, room: RoomEvidence, request: Request, evidence: Evidence) -> None:
    """A refusal is final and true: players choose among legal actions, so only a stale version can be one."""
    if any(loss > request.asked_at[0] for loss in evidence.losses):
        return  # the version it was refused in may be of a past that the store has lost since
    first = request.asked_at[0]
    for answer in request.refused:
        if request.accepted:
            _find(report, Fault.FALSE_REFUSAL, request, f"accepted, and refused as {answer.reason}")
        elif _is_applied(room, request) and not _asked_again(room, request):
            _find(report, Fault.REFUSED_YET_APPLIED, request, f"{answer.code} {answer.reason}")
        elif any(loss < first for loss in evidence.losses):
            continue  # chosen from what the player held of a lost past, perhaps
        elif answer.reason == "STALE_VERSION":
            if answer.current_version <= request.expected_version:
                text = f"the room was said to be at version {answer.current_version}"
                _find(report, Fault.FALSE_REFUSAL, request, text)
        elif answer.reason not in {"MATCH_OVER", "ROOM_NOT_FOUND"}:
            _find(report, Fault.FALSE_REFUSAL, request, f"{answer.code} {answer.reason}")


def _is_applied(room: RoomEvidence, request: Request) -> bool:
    """Whether the record has the action as the player's own: a bot in its seat may choose the same one."""
    assert room.truth is not None
    recorded = room.truth.played.get(request.expected_version + 1)
    wanted = room.seat_of(request.who), request.action, event_pb2.ACTION_SOURCE_PLAYER
    return recorded is not None and (recorded.seat, recorded.action, recorded.source) == wanted


def _asked_again(room: RoomEvidence, request: Request) -> bool:
    """Whether another request of the same player asks for the same action on the same version."""
    return any(
        other is not request
        and (other.who, other.expected_version, other.action) == (request.who, request.expected_version, request.action)
        for other in room.requests.values()
    )


def _check_finished(report: Report, evidence: Evidence) -> None:
    """What other services hear of matches that ended: each once, and no other."""
    if evidence.finished is None:
        return
    for name, room in evidence.rooms.items():
        told = evidence.finished[name]
        if room.truth is not None and told != room.truth.replay.header.HasField("result"):
            report.findings.append(Finding(Fault.BAD_FINISH, name, f"it was passed on {told} times"))


def _check_liveness(report: Report, evidence: Evidence) -> None:
    """After each recovery every match that is not over has told something new within the time allowed."""
    for expected in evidence.expectations:
        limit = evidence.deadline(expected)
        for room in evidence.rooms.values():
            began = bool(room.news) and room.news[0][0] < expected.at
            if not began or (room.over_at is not None and room.over_at <= expected.at):
                continue
            # A match whose last step was just on its way has nothing more to do.
            if room.went_on(expected, limit) or (room.over_at is not None and room.over_at <= limit):
                report.counts["recoveries in time"] += 1
            elif evidence.until >= limit:
                text = f"nothing was done within {expected.within:g} s of {expected.at:.1f}: {expected.why}"
                report.findings.append(Finding(Fault.STALLED, room.room, text))


def _find(report: Report, fault: Fault, request: Request, text: str) -> None:
    report.findings.append(Finding(fault, request.room, f"{request}: {text}"))
