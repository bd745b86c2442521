/**
 * What is held of a room and how news changes it: pure functions from one state to the next.
 *
 * snapshot              replaces everything
 * event, version + 1    is applied
 * event, older          is dropped: it has been applied already
 * event, newer          is a gap: GapError, and the stream is resumed with the cursor that is held
 * event that cannot be  DivergedError: the stream is opened anew for a snapshot
 *
 * The view that results is the one the server would send, but for `traces`, which stay those of the last snapshot.
 */
import { create } from "@bufbuild/protobuf";
import type {
  ActionPlayed,
  Change,
  Event,
  LegalActions,
  RoundEnded,
  RoundStarted,
  Snapshot,
} from "../gen/rami/game/v1/event_pb.ts";
import { type Room, RoomStatus } from "../gen/rami/game/v1/room_pb.ts";
import { Phase, RoundEndReason, type TableMeld, TableMeldSchema } from "../gen/rami/game/v1/rules_pb.ts";
import { type SeatView, SeatViewSchema } from "../gen/rami/game/v1/view_pb.ts";
import { ascending, type Card, without } from "./cards.ts";
import { actionCards } from "./rules.ts";

/** An event that skips one. */
export class GapError extends Error {
  override readonly name = "GapError";
}

/** An event that cannot follow what is held. */
export class DivergedError extends Error {
  override readonly name = "DivergedError";
}

/** The room as its viewer knows it. Never changed in place. */
export interface TableState {
  room: Room;
  /** The match as the viewer sees it; undefined before the match. */
  view: SeatView | undefined;
  /** What the viewer may do now; empty unless its seat is to move. */
  legal: LegalActions | undefined;
  /** Where to resume. */
  cursor: Uint8Array;
  /** The viewer's seat; undefined for a spectator. */
  seat: number | undefined;
  /** How the round that was dealt last has ended, with what everybody still held; undefined while it is played. */
  roundEnded: RoundEnded | undefined;
}

/** One step of a room, and what is held after it. */
export interface Update {
  state: TableState;
  /** What happened, in order; empty for a snapshot. */
  changes: Change[];
  /** Everything was replaced: steps before this one may have been missed. */
  snapshot: boolean;
  /** A part of the past that was held did not happen: the store lost it. */
  rewound: boolean;
  event: Event | undefined;
}

export function versionOf(state: TableState | undefined): bigint {
  return state?.room.version ?? 0n;
}

/** The state of a snapshot. */
export function afterSnapshot(snapshot: Snapshot, playerId: string): TableState {
  const { room, view, cursor, roundEnded } = snapshot;
  if (!room) throw new DivergedError("a snapshot without a room");
  return { room, view, legal: undefined, cursor, seat: view ? view.seat : seatOf(room, playerId), roundEnded };
}

/** The state after an event; undefined for one that was applied before. Throws GapError and DivergedError. */
export function afterEvent(state: TableState, event: Event, playerId: string): TableState | undefined {
  if (event.version <= state.room.version) return undefined;
  if (event.version !== state.room.version + 1n) {
    throw new GapError(`version ${event.version} does not follow ${state.room.version}`);
  }
  let room: Room = { ...state.room, version: event.version };
  if (event.turn) room.turn = event.turn;
  else delete room.turn;
  let { view, roundEnded } = state;
  for (const change of event.changes) {
    room = changedRoom(room, change);
    view = changedView(room, view, change, seatOf(room, playerId));
    if (change.kind.case === "roundEnded") roundEnded = change.kind.value;
    else if (change.kind.case === "roundStarted") roundEnded = undefined;
  }
  const seat = view ? view.seat : seatOf(room, playerId);
  return { room, view, legal: undefined, cursor: event.cursor, seat, roundEnded };
}

/** The list holds for the version that it names; an older one says nothing any more. */
export function withLegalActions(state: TableState, legal: LegalActions): TableState {
  return legal.version === state.room.version ? { ...state, legal } : state;
}

function seatOf(room: Room, playerId: string): number | undefined {
  if (!playerId) return undefined;
  return room.seats.find(({ holder }) => holder.case === "player" && holder.value.playerId === playerId)?.seat;
}

function changedRoom(room: Room, { kind }: Change): Room {
  switch (kind.case) {
    case "seatChanged": {
      const { seat } = kind.value;
      if (!seat || seat.seat >= room.seats.length) throw new DivergedError("a seat that the room does not have");
      return { ...room, seats: room.seats.map((held) => (held.seat === seat.seat ? seat : held)) };
    }
    case "hostChanged":
      return { ...room, hostPlayerId: kind.value.hostPlayerId };
    case "matchStarted":
      return { ...room, status: RoomStatus.IN_MATCH, entropies: kind.value.entropies };
    case "matchEnded":
      return { ...room, status: RoomStatus.OVER, ...(kind.value.result && { result: kind.value.result }) };
    case "rematchCreated":
      return { ...room, rematchRoomId: kind.value.roomId };
    case "roomClosed":
      return { ...room, status: RoomStatus.CLOSED };
    default:
      return room;
  }
}

function changedView(
  room: Room,
  view: SeatView | undefined,
  { kind }: Change,
  seat: number | undefined,
): SeatView | undefined {
  switch (kind.case) {
    case "matchStarted":
      return openingView(room, seat);
    case "roundStarted":
      return afterDeal(held(view), kind.value);
    case "actionPlayed":
      return afterAction(held(view), kind.value);
    case "roundEnded":
      return afterRound(held(view), kind.value);
    case "matchEnded": {
      const winner = kind.value.result?.winnerSeat;
      return { ...held(view), phase: Phase.MATCH_OVER, ...(winner !== undefined && { winnerSeat: winner }) };
    }
    default:
      return view;
  }
}

function held(view: SeatView | undefined): SeatView {
  if (!view) throw new DivergedError("something happened in a match that has not begun");
  return view;
}

function openingView(room: Room, seat: number | undefined): SeatView {
  const players = room.seats.length;
  const zeros = room.seats.map(() => 0);
  return create(SeatViewSchema, {
    rulesId: room.rulesId,
    rulesVersion: room.rulesVersion,
    players,
    ...(seat !== undefined && { seat }),
    ...(room.options?.rules && { options: room.options.rules }),
    ...(room.guards && { guards: room.guards }),
    scores: zeros,
    handSizes: zeros,
    phase: Phase.NOT_STARTED,
  });
}

function afterDeal(view: SeatView, dealt: RoundStarted): SeatView {
  if (dealt.hand.length > 0 !== (view.seat !== undefined) || dealt.roundNumber !== view.roundNumber + 1) {
    throw new DivergedError("the deal is not the viewer's");
  }
  return {
    ...view,
    phase: Phase.DRAW,
    roundNumber: dealt.roundNumber,
    turnSeat: dealt.startingSeat,
    turnNumber: 1,
    hand: dealt.hand,
    handSizes: view.handSizes.map(() => dealt.handSize),
    stockSize: dealt.stockSize,
    discards: [dealt.upCard],
    melds: [],
    traces: [],
  };
}

function afterAction(view: SeatView, played: ActionPlayed): SeatView {
  const { action, seat } = played;
  if (!action) throw new DivergedError("an action without a kind");
  const draws = action.kind.case === "drawStock" || action.kind.case === "drawDiscard";
  if (seat !== view.turnSeat || view.phase !== (draws ? Phase.DRAW : Phase.PLAY)) {
    throw new DivergedError("another seat or phase is in turn");
  }
  return draws ? afterDraw(view, played) : afterPlay(view, played);
}

function afterDraw(view: SeatView, { seat, action, drawn }: ActionPlayed): SeatView {
  const own = seat === view.seat;
  const fromStock = action?.kind.case === "drawStock";
  if (fromStock && view.stockSize === 0) return view; // no card moves: the round ends
  const card = fromStock ? drawn : view.discards.at(-1);
  if (own && (card === undefined || view.hand.includes(card))) throw new DivergedError("the drawn card is missing");
  return {
    ...view,
    phase: Phase.PLAY,
    hand: own && card !== undefined ? ascending([...view.hand, card]) : view.hand,
    handSizes: resized(view, seat, 1),
    stockSize: view.stockSize - (fromStock ? 1 : 0),
    discards: fromStock ? view.discards : view.discards.slice(0, -1),
  };
}

function afterPlay(view: SeatView, { seat, action }: ActionPlayed): SeatView {
  const cards = action ? actionCards(action) : [];
  const own = seat === view.seat;
  if (own && cards.some((card) => !view.hand.includes(card))) throw new DivergedError("a card that the hand lacks");
  const next: SeatView = {
    ...view,
    hand: own ? without(view.hand, cards) : view.hand,
    handSizes: resized(view, seat, -cards.length),
  };
  switch (action?.kind.case) {
    case "discard":
      return {
        ...next,
        phase: Phase.DRAW,
        turnSeat: (seat + 1) % view.players,
        turnNumber: view.turnNumber + 1,
        matchTurns: view.matchTurns + 1,
        discards: [...view.discards, ...cards],
      };
    case "meld":
      return { ...next, melds: [...view.melds, meldOf(view.melds.length + 1, cards)] };
    case "layOff": {
      const { meld: number } = action.kind.value;
      if (!view.melds.some((meld) => meld.number === number)) throw new DivergedError("no such meld on the table");
      const grown = (meld: TableMeld) => (meld.number === number ? meldOf(number, [...meld.cards, ...cards]) : meld);
      return { ...next, melds: view.melds.map(grown) };
    }
    default:
      throw new DivergedError("an action of an unknown kind");
  }
}

function afterRound(view: SeatView, { result }: RoundEnded): SeatView {
  if (!result || result.roundNumber !== view.roundNumber) throw new DivergedError("another round is in play");
  // Only a discard has passed the turn on before the round ended.
  const passedOn = view.phase === Phase.DRAW && result.reason !== RoundEndReason.STOCK_EXHAUSTED;
  return {
    ...view,
    phase: Phase.ROUND_OVER,
    turnSeat: passedOn ? (view.turnSeat + view.players - 1) % view.players : view.turnSeat,
    scores: result.scores,
    lastRound: result,
  };
}

function meldOf(number: number, cards: readonly Card[]): TableMeld {
  return create(TableMeldSchema, { number, cards: ascending(cards) });
}

function resized(view: SeatView, seat: number, by: number): number[] {
  const sizes = view.handSizes.map((size, at) => (at === seat ? size + by : size));
  if (sizes.some((size) => size < 0)) throw new DivergedError("a hand has more cards played than it held");
  return sizes;
}
