/** What a table looks like at one moment: the same for a match that is played and for one that is replayed. */

import type { Card } from "../client/cards.ts";
import type { Match, TableState } from "../client/index.ts";
import type { Room } from "../gen/rami/game/v1/room_pb.ts";
import { Phase } from "../gen/rami/game/v1/rules_pb.ts";
import type { Texts } from "./i18n.ts";
import { seatNames } from "./story.ts";

export interface SceneSeat {
  seat: number;
  name: string;
  kind: "player" | "bot" | "empty";
  you: boolean;
  host: boolean;
  standIn: boolean;
  handSize: number;
  score: number;
  toMove: boolean;
  winner: boolean;
  /** The cards, where everybody may see them. */
  hand: Card[] | undefined;
}

export interface Scene {
  seats: SceneSeat[];
  roundNumber: number;
  target: number;
  stockSize: number;
  discards: Card[];
  melds: { number: number; cards: Card[] }[];
  drawing: boolean;
  playing: boolean;
}

function seatsOf(texts: Texts, room: Pick<Room, "seats"> & { hostPlayerId?: string }, own: number | undefined) {
  const names = seatNames(texts, room.seats);
  return room.seats.map(({ seat, holder }) => ({
    seat,
    name: names[seat] ?? "",
    kind: holder.case ?? ("empty" as const),
    you: seat === own,
    host: holder.case === "player" && holder.value.playerId === room.hostPlayerId,
    standIn: holder.case === "player" && holder.value.standIn,
  }));
}

/** A room that is followed. */
export function liveScene(texts: Texts, { room, view, seat: own }: TableState): Scene {
  const acting = room.turn?.seat;
  return {
    seats: seatsOf(texts, room, own).map((seat) => ({
      ...seat,
      handSize: view?.handSizes[seat.seat] ?? 0,
      score: view?.scores[seat.seat] ?? 0,
      toMove: acting === seat.seat,
      winner: view?.winnerSeat === seat.seat,
      hand: undefined,
    })),
    roundNumber: view?.roundNumber ?? 0,
    target: room.options?.rules?.targetScore ?? 100,
    stockSize: view?.stockSize ?? 0,
    discards: view?.discards ?? [],
    melds: view?.melds ?? [],
    drawing: view?.phase === Phase.DRAW,
    playing: view?.phase === Phase.PLAY,
  };
}

/** A moment of a replay, all hands face up. */
export function replayScene(texts: Texts, room: Pick<Room, "seats">, match: Match): Scene {
  const inPlay = match.phase === "draw" || match.phase === "play";
  return {
    seats: seatsOf(texts, room, undefined).map((seat) => ({
      ...seat,
      standIn: false,
      handSize: match.hands[seat.seat]?.length ?? 0,
      score: match.scores[seat.seat] ?? 0,
      toMove: inPlay && match.turnSeat === seat.seat,
      winner: match.winnerSeat === seat.seat,
      hand: match.hands[seat.seat] ?? [],
    })),
    roundNumber: match.roundNumber,
    target: match.options.targetScore,
    stockSize: match.stock.length,
    discards: match.discards,
    melds: match.melds.map((cards, at) => ({ number: at + 1, cards })),
    drawing: match.phase === "draw",
    playing: match.phase === "play",
  };
}
