"""The table as one screen of at most 80 columns and 24 lines, and as plain lines where there is no terminal."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from rami.game.v1 import room_pb2
from rami_cli.drawing import draw_card, draw_cards, draw_change, seat_names
from rami_cli.texts import rich_text, text
from rami_engine import Phase, mask_points

if TYPE_CHECKING:
    from rami_client import Update
    from rami_engine import SeatView

WIDTH: Final = 80
HEIGHT: Final = 23
"""One line less than the terminal has: the cursor needs one."""
EVENT_LINES: Final = 6
_MELD_LINES: Final = 4


class Screen:
    """What is shown of a room: its state, and the last things that happened."""

    def __init__(self, room: room_pb2.Room, view: SeatView | None) -> None:
        self._room = room
        self._view = view
        self._events: deque[Text] = deque(maxlen=EVENT_LINES)

    @property
    def names(self) -> list[str]:
        """The name of every seat."""
        return seat_names(self._room, self._view.viewer if self._view is not None else None)

    def take(self, update: Update) -> list[Text]:
        """Shows an update from now on; a line for each thing that happened in it."""
        self._room, self._view = update.room, update.view
        lines = []
        if update.snapshot:
            lines.append(rich_text("fetched-anew", "dim"))
        for change in update.changes:
            line = draw_change(change, self.names)
            if line is not None:
                lines.append(line)
        self._events.extend(lines)
        return lines

    @property
    def version(self) -> int:
        """The version of the room that is shown."""
        return self._room.version

    def draw(self, height: int = HEIGHT) -> RenderableType:
        """The whole screen in so many lines: the latest events are what gives way."""
        if self._view is None or self._view.turn is None:
            waiting = [seat for seat in self._room.seats if not seat.WhichOneof("holder")]
            line = rich_text("seats-empty", count=len(waiting)) if waiting else rich_text("about-to-start")
            return Group(self._title(), line, *self._events)
        melds = _melds(self._view)
        table_height = len(self._room.seats) + len(melds) + 5
        room_for_events = max(0, min(EVENT_LINES, height - table_height))
        events = [line for event in self._events for line in _wrapped(event)]
        rule = Text("─" * (WIDTH - 1), style="dim")
        return Group(self._title(), *self._table(self._view), rule, *events[max(0, len(events) - room_for_events) :])

    def draw_table(self) -> RenderableType:
        """The seats, the cards on the table, and the viewer's hand."""
        return Group(*self._table(self._view)) if self._view is not None else Text()

    def _table(self, view: SeatView) -> list[RenderableType]:
        return [self._seats(view), self._middle(view), *_melds(view), self._hand(view)]

    def _title(self) -> Text:
        view = self._view
        target = view.options.target_score if view is not None else self._room.options.rules.target_score
        room = text("title-room", room=self._room.room_id, points=target)
        title = Text.assemble(("Rami", "bold"), (f"  {room}", "dim"))
        if view is not None and view.round_number:
            title.append("  " + text("title-turn", round=view.round_number, turn=view.turn_number))
        return title

    def _seats(self, view: SeatView) -> Grid:
        grid = Grid(box=None, pad_edge=False, header_style="dim", width=WIDTH - 1)
        grid.add_column("", width=1)
        grid.add_column(text("column-seat"), width=24, no_wrap=True)
        grid.add_column(text("column-cards"), justify="right", width=6)
        grid.add_column(text("column-score"), justify="right", width=6)
        grid.add_column("", width=28, no_wrap=True)
        in_play = self._room.status == room_pb2.ROOM_STATUS_IN_MATCH
        for seat, name in enumerate(self.names):
            to_move = in_play and view.turn == seat and view.phase in (Phase.DRAW, Phase.PLAY)
            note = ""
            if self._room.seats[seat].player.stand_in:
                note = text("note-away")
            elif to_move:
                note = text("note-draw" if view.phase == Phase.DRAW else "note-play")
                limit = self._room.options.turn_time_limit.seconds
                if limit and self._room.seats[seat].HasField("player"):
                    note = text("note-limit", note=note, seconds=limit)
            elif view.winner == seat:
                note = text("note-wins")
            grid.add_row(
                "▶" if to_move else "",
                Text(name, style="bold" if to_move else ""),
                str(view.hand_sizes[seat]),
                str(view.scores[seat]),
                Text(note, style="dim"),
            )
        return grid

    def _middle(self, view: SeatView) -> Text:
        top = draw_card(view.discards[-1]) if view.discards else rich_text("no-discards")
        earlier = draw_cards(view.discards[-9:-1])
        piles = f"{text('stock', count=view.stock_count)}   {text('discard-pile', count=len(view.discards))} "
        return Text.assemble(piles, earlier, " ", Text("["), top, Text("]"))

    def _hand(self, view: SeatView) -> Text:
        if view.viewer is None:
            return rich_text("you-watch", "dim")
        points = text("hand-points", points=mask_points(view.hand, view.options.ace_high))
        return Text.assemble((f"{text('hand')}  ", "bold"), draw_cards(view.hand), (f"   {points}", "dim"))


def _melds(view: SeatView) -> list[Text]:
    """The melds on the table, several to a line; the oldest give way where there are too many."""
    if not view.melds:
        return [rich_text("no-melds", "dim")]
    lines = [Text()]
    for number, meld in enumerate(view.melds, 1):
        drawn = Text.assemble((f"{number}: ", "dim"), draw_cards(meld), "   ")
        if lines[-1].cell_len + drawn.cell_len >= WIDTH:
            lines.append(Text())
        lines[-1].append_text(drawn)
    if len(lines) > _MELD_LINES:
        lines = [Text("…", style="dim"), *lines[-(_MELD_LINES - 1) :]]
    return lines


def _wrapped(line: Text) -> list[Text]:
    """A line as several that fit the screen, broken between words."""
    return list(line.wrap(Console(width=WIDTH), WIDTH - 1))


def final_standings(room: room_pb2.Room, view: SeatView) -> Grid:
    """The seats by score, best first; equal scores share a place."""
    grid = Grid(title=text("final-standings"), title_justify="left", box=None, pad_edge=False, header_style="dim")
    grid.add_column("")
    grid.add_column(text("column-seat"))
    grid.add_column(text("column-score"), justify="right")
    names = seat_names(room, view.viewer)
    order = sorted(range(view.players), key=lambda seat: (-view.scores[seat], seat))
    for seat in order:
        place = 1 + sum(score > view.scores[seat] for score in view.scores)
        style = "bold" if seat == view.winner else ""
        grid.add_row(f"{place}.", Text(names[seat], style=style), str(view.scores[seat]))
    return grid


def make_console(*, plain: bool = False, stderr: bool = False) -> Console:
    """The console of a command. Colours follow NO_COLOR and whether there is a terminal; `plain` has none."""
    return Console(stderr=stderr, highlight=False, no_color=plain or None, soft_wrap=True)
