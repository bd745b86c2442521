"""Makes the tables of deploy/capacity.md of measured figures: `make docs`; and `make capacity` after `make bench`.

The figures that the page needs are kept in deploy/capacity.json, so that the page can be made anew without measuring.
With `--from FOLDER` they are taken from the reports of `rami bench` there; a part that has not been measured keeps what
it had. What is assumed of players, and the price of an echo on a quiet core, stand below.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
KEPT: Final = ROOT / "deploy" / "capacity.json"
PAGE: Final = ROOT / "deploy" / "capacity.md"
MARKS: Final = ("<!-- {} -->\n", "<!-- /{} -->")

ECHO_US: Final = 230
"""What a bare unary call costs a Python server on a quiet core of the machine used."""
WRITE_US: Final = 30
"""A bare stream write there, with 1,000 watchers."""

NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "calls": ("action over Play", "store's share of an action", "SubmitAction", "GetView"),
    "delivery": ("an event delivered to a watcher", "a watcher"),
    "rooms": ("CreateRoom, seed chain included", "a ticket until its table", "a ticket until its table, game service"),
    "store": (
        "a room in mid-round",
        "log of a finished match, an event",
        "action with 1,000 rooms in the store",
        "action with 100,000 rooms in the store",
        "action after 2,000 in its room",
    ),
    "ai": (
        "Easy decision over DecideMany",
        "an action of a bot-only match, easy",
        "an action of a bot-only match, normal",
        "an action of a bot-only match, hard",
        "Hard decisions, 2 workers",
        "busiest of 2 AI processes",
        "busiest of 4 AI processes",
    ),
    "scaling": (
        "action, two replicas",
        "action, two replicas, seats of a table apart",
        "action, three masters of a cluster",
    ),
}
"""Figures by the part of the measurement."""

PEOPLE: Final = 1_000_000
SEATS: Final = 3
TURN_SECONDS: Final = 10
ACTIONS_A_TURN: Final = 2.5
MATCH_SECONDS: Final = 900
BOT_SHARE: Final = 10
"""One action in so many is a bot's."""
MAX_STREAMS: Final = 8192
"""The default of RAMI_MAX_STREAMS."""
COMMIT_BYTES: Final = 1300
EVENT_BYTES: Final = 200
KEY_BYTES: Final = 400
"""Of a room's other keys."""

Figures = dict[str, dict[str, Any]]


class FiguresError(Exception):
    """A report that lacks what it should have; the text names it."""


def take(folder: Path, kept: Figures) -> Figures:
    """The figures of the reports in a folder, and what was kept of parts that have none there. Raises FiguresError."""
    taken = dict(kept)
    for part, names in NEEDED.items():
        report = folder / f"{part}.json"
        if not report.exists():
            continue
        rows = {row["name"]: row for row in json.loads(report.read_text())["results"] if "ratio" in row}
        if not rows:
            continue
        missing = [name for name in names if name not in rows]
        if missing:
            raise FiguresError(f"{report} has no figure {missing[0]!r}")
        taken[part] = {
            name: {key: rows[name][key] for key in ("median", "ratio", "ratio_iqr", "goal")} for name in names
        }
    return taken


def tables(figures: Figures) -> dict[str, str]:
    """The generated pieces of the page by their marks."""
    return {"costs": _costs(figures), "million": _million(figures), "slope": _slope(figures)}


def page(text: str, pieces: dict[str, str]) -> str:
    """The page with its pieces put in. Raises FiguresError when it has no place for one."""
    for name, piece in pieces.items():
        begin, end = (mark.format(name) for mark in MARKS)
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise FiguresError(f"{PAGE.name} has no place for {name}")
        text = f"{before}{begin}{piece}\n{end}{after}"
    return text


def _ratio(figures: Figures, part: str, name: str) -> float:
    value: float = figures[part][name]["ratio"]
    return value


def _us(figures: Figures, part: str, name: str) -> float:
    """Microseconds on a quiet core."""
    return _ratio(figures, part, name) * ECHO_US


def _costs(figures: Figures) -> str:
    rows = [
        "| unit | processor time, in echoes | us at 230 us an echo | where | measured by |",
        "| --- | ---: | ---: | --- | --- |",
    ]

    def timed(said: str, part: str, name: str, where: str) -> None:
        echoes = _ratio(figures, part, name)
        shown = f"{echoes:.1f}" if echoes >= 50 else f"{echoes:.2f}"
        rows.append(f"| {said} | {shown} | {echoes * ECHO_US:,.0f} | {where} | `make bench PART={part}` |")

    def sized(said: str, size: str, where: str, part: str) -> None:
        rows.append(f"| {said} | {size} | | {where} | `make bench PART={part}` |")

    timed("an action over `Play`, durable, both seats told", "calls", "action over Play", "game")
    timed("the same, in the store", "calls", "store's share of an action", "store")
    timed("an action by `SubmitAction`", "calls", "SubmitAction", "game")
    timed("`GetView`", "calls", "GetView", "game")
    writes = _ratio(figures, "delivery", "an event delivered to a watcher")
    rows.append(
        f"| an event to one more seat or watcher | {writes:.2f} bare stream writes | {writes * WRITE_US:.0f} | game |"
        " `make bench PART=delivery` |"
    )
    sized("an open watch, in memory", f"{figures['delivery']['a watcher']['median']:.0f} KB", "game", "delivery")
    timed("a room made, its seed chain included", "rooms", "CreateRoom, seed chain included", "game")
    sized("a room in mid-round, without its log", f"{_room_bytes(figures):.0f} bytes", "store", "store")
    sized("an event in the log, all overhead counted", f"{_event_bytes(figures):.0f} bytes", "store", "store")
    timed("an Easy decision over `DecideMany`", "ai", "Easy decision over DecideMany", "AI")
    timed("a bot's action, Easy, everything counted", "ai", "an action of a bot-only match, easy", "game, AI, store")
    timed("a bot's action, Normal", "ai", "an action of a bot-only match, normal", "game, AI, store")
    timed("a bot's action, Hard", "ai", "an action of a bot-only match, hard", "game, AI, store")
    timed("a ticket until its table", "rooms", "a ticket until its table", "matchmaking")
    timed(
        "the same, in the game service (its share of the room)",
        "rooms",
        "a ticket until its table, game service",
        "game",
    )
    return "\n".join(rows)


def _room_bytes(figures: Figures) -> float:
    return float(figures["store"]["a room in mid-round"]["median"])


def _event_bytes(figures: Figures) -> float:
    return round(float(figures["store"]["log of a finished match, an event"]["median"]))


def _million(figures: Figures) -> str:
    tables_ = PEOPLE / SEATS
    actions = tables_ / TURN_SECONDS * ACTIONS_A_TURN
    events = actions * SEATS
    tickets = PEOPLE / MATCH_SECONDS
    decisions = actions / BOT_SHARE
    action_us = _us(figures, "calls", "action over Play") + WRITE_US * _ratio(
        figures, "delivery", "an event delivered to a watcher"
    )
    store_us = _us(figures, "calls", "store's share of an action")
    ticket_us = _us(figures, "rooms", "a ticket until its table")
    room_us = _us(figures, "rooms", "a ticket until its table, game service")
    easy_us = _us(figures, "ai", "Easy decision over DecideMany")
    hard_us = _us(figures, "ai", "an action of a bot-only match, hard")
    cores = actions * action_us / 1e6
    store_cores = actions * store_us / 1e6
    masters = math.ceil(store_cores / 0.5)
    streams = MAX_STREAMS * 0.8
    stream_kb = round(figures["delivery"]["a watcher"]["median"])
    matches = round(MATCH_SECONDS / TURN_SECONDS * ACTIONS_A_TURN)
    room, event = _room_bytes(figures), _event_bytes(figures)
    playing = tables_ * (room + KEY_BYTES + matches // 2 * event) / 1e9
    over = tables_ * 4 * (room + KEY_BYTES + matches * event) / 1e9
    written = actions * COMMIT_BYTES / 1e6
    sums = (
        ("tables", f"{PEOPLE:,} people / {SEATS}", f"{tables_:,.0f}"),
        ("actions", f"{tables_:,.0f} tables / {TURN_SECONDS} s * {ACTIONS_A_TURN}", f"{actions:,.0f} a second"),
        ("events delivered", f"{actions:,.0f} a second * {SEATS}", f"{events:,.0f} a second"),
        ("tickets", f"{PEOPLE:,} people / {MATCH_SECONDS} s", f"{tickets:,.0f} a second"),
        ("decisions", f"{actions:,.0f} a second / {BOT_SHARE}", f"{decisions:,.0f} a second"),
    )
    a_second = f"{actions:,.0f}/s"
    kept = f"{tables_:,.0f} * 4 an hour kept (`RAMI_FINISHED_SECONDS`)"
    room_and_keys = f"{room:.0f} + {KEY_BYTES}"
    needs = (
        (
            "game service, CPU",
            f"{a_second} * {action_us:.0f} us (two seats told, and 1 more) = {cores:.1f} cores; at 60 % busy",
            f"{math.ceil(cores / 0.6)} pods of one core",
        ),
        (
            "game service, streams",
            f"{PEOPLE:,} / ({MAX_STREAMS:,} of `RAMI_MAX_STREAMS` * 0.8)",
            f"**{math.ceil(PEOPLE / streams)} pods**",
        ),
        (
            "streams that a pod's CPU is enough for",
            f"{PEOPLE:,} / ({cores:.1f} cores / 0.6)",
            f"{PEOPLE / (cores / 0.6):,.0f} a pod",
        ),
        (
            "game service, memory",
            f"96 MiB + {streams:,.0f} streams * {stream_kb} KB",
            f"{96 + streams * stream_kb * 1000 / 2**20:.0f} MiB a pod",
        ),
        (
            "store, CPU",
            f"{a_second} * {store_us:.0f} us = {store_cores:.1f} cores; at 50 % busy",
            f"{masters} masters, each with {tables_ / masters:,.0f} rooms in play",
        ),
        (
            "store, memory, matches in play",
            f"{tables_:,.0f} * ({room_and_keys} for other keys + {matches // 2} events * {event} bytes)",
            f"{playing:.1f} GB",
        ),
        (
            "store, memory, finished matches",
            f"{kept} * ({room_and_keys} + {matches} * {event} bytes)",
            f"**{over:.1f} GB**",
        ),
        (
            "store, network and log on disk",
            f"{a_second} * about {COMMIT_BYTES / 1000} KB (state, event twice, arguments)",
            f"{written:.0f} MB/s in, {written / masters:.0f} MB/s a master",
        ),
        (
            "players' network",
            f"{events:,.0f}/s * about {EVENT_BYTES} bytes (event, legal actions, HTTP/2, TLS, TCP)",
            f"{events * EVENT_BYTES * 8 / 1e9:.2f} Gbit/s",
        ),
        ("matchmaking, CPU", f"{tickets:,.0f}/s * {ticket_us:,.0f} us", f"{tickets * ticket_us / 1e6:.1f} cores"),
        (
            "rooms for its tables, in the game service",
            f"{tickets:,.0f}/s * {room_us:,.0f} us",
            f"{tickets * room_us / 1e6:.1f} cores",
        ),
        (
            "AI service, Easy",
            f"{decisions:,.0f}/s * {easy_us:.0f} us; at 70 % busy",
            f"{math.ceil(decisions * easy_us / 1e6 / 0.7)} cores",
        ),
        (
            "the same, were they all Hard",
            f"{decisions:,.0f}/s * {hard_us / 1000:.0f} ms; at 70 % busy",
            f"{math.ceil(decisions * hard_us / 1e6 / 0.7)} cores",
        ),
    )
    return "\n".join(
        [
            *(f"    {what:<17} {how:<36} = {result}" for what, how, result in sums),
            "",
            "| what | arithmetic | needs |",
            "| --- | --- | --- |",
            *(f"| {what} | {how} | {result} |" for what, how, result in needs),
        ]
    )


def _slope(figures: Figures) -> str:
    questions = (
        ("1,000 rooms in the store", "store", "action with 1,000 rooms in the store", "an action with 32 rooms"),
        ("100,000 rooms in the store", "store", "action with 100,000 rooms in the store", "the same"),
        ("2,000 actions in one room", "store", "action after 2,000 in its room", "the first actions of that room"),
        ("two game replicas, server and store", "scaling", "action, two replicas", "one replica"),
        ("the same, seats of a table apart", "scaling", "action, two replicas, seats of a table apart", "one replica"),
        ("three masters of a cluster", "scaling", "action, three masters of a cluster", "one store"),
        ("Hard decisions of two workers", "ai", "Hard decisions, 2 workers", "two processes that only search"),
        ("busiest of 2 AI processes", "ai", "busiest of 2 AI processes", "its fair share"),
        ("busiest of 4 AI processes", "ai", "busiest of 4 AI processes", "its fair share"),
    )
    rows = ["| question | figure | beside | goal |", "| --- | --- | --- | --- |"]
    for said, part, name, beside in questions:
        row = figures[part][name]
        goal = f"≤ {row['goal']:g}" if row["goal"] is not None else ""
        rows.append(f"| {said} | {row['ratio']:.2f} ± {row['ratio_iqr']:.2f} | {beside} | {goal} |")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="folder", type=Path, help="take new figures from the reports in this folder")
    arguments = parser.parse_args()
    kept: Figures = json.loads(KEPT.read_text())
    try:
        if arguments.folder is not None:
            kept = take(arguments.folder, kept)
        text = page(PAGE.read_text(), tables(kept))
    except FiguresError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
