/** What happened, in words: for the log and for screen readers. */

import type { Card } from "../client/cards.ts";
import type { Action } from "../gen/rami/game/v1/action_pb.ts";
import type { Change } from "../gen/rami/game/v1/event_pb.ts";
import { SeatChangeCause } from "../gen/rami/game/v1/event_pb.ts";
import type { Room, Seat } from "../gen/rami/game/v1/room_pb.ts";
import { MatchEndReason, RoundEndReason } from "../gen/rami/game/v1/rules_pb.ts";
import { cardName, cardNames } from "./context.ts";
import type { TextKey, Texts } from "./i18n.ts";

const LEVELS: Record<string, TextKey> = { easy: "levelEasy", normal: "levelNormal", hard: "levelHard" };

/** The name of a bot profile; profiles that are not known here are shown by their id. */
export function levelName(texts: Texts, bot: string): string {
  const key = LEVELS[bot];
  return key ? texts.t(key) : bot;
}

export function holderName(texts: Texts, seat: Seat | undefined): string {
  switch (seat?.holder.case) {
    case "player":
      return seat.holder.value.displayName;
    case "bot":
      return texts.t("botName", { n: seat.seat + 1, level: levelName(texts, seat.holder.value.bot).toLowerCase() });
    default:
      return texts.t("seatEmpty");
  }
}

/** Names by seat; those that are there twice get their seat's number, so that everybody can be told apart. */
export function seatNames(texts: Texts, seats: readonly Seat[]): string[] {
  const names = seats.map((seat) => holderName(texts, seat));
  return names.map((name, at) => (names.indexOf(name) !== names.lastIndexOf(name) ? `${name} ${at + 1}` : name));
}

const CAUSES: Partial<Record<SeatChangeCause, TextKey>> = {
  [SeatChangeCause.JOINED]: "didJoin",
  [SeatChangeCause.LEFT]: "didLeave",
  [SeatChangeCause.TIMED_OUT]: "didTimeOut",
  [SeatChangeCause.RETURNED]: "didReturn",
};

const ROUND_ENDS: Partial<Record<RoundEndReason, TextKey>> = {
  [RoundEndReason.WENT_OUT]: "didGoOut",
  [RoundEndReason.STOCK_EXHAUSTED]: "didStockEnd",
  [RoundEndReason.TURN_LIMIT]: "didTurnLimit",
};

/** An action in words; `stockEmpty` where a draw from the stock moved no card. */
export function tellAction(
  texts: Texts,
  name: string,
  action: Action,
  drawn: Card | undefined,
  stockEmpty: boolean,
): string {
  const { kind } = action;
  switch (kind.case) {
    case "drawStock":
      if (stockEmpty) return texts.t("didAskStock", { name });
      return drawn ? texts.t("didDrawCard", { name, card: cardName(texts, drawn) }) : texts.t("didDrawStock", { name });
    case "drawDiscard":
      return texts.t("didDrawPile", { name, card: drawn ? cardName(texts, drawn) : "" });
    case "meld":
      return texts.t("didMeld", { name, cards: cardNames(texts, kind.value.cards) });
    case "layOff":
      return texts.t("didLayOff", { name, n: kind.value.meld, cards: cardNames(texts, kind.value.cards) });
    case "discard":
      return texts.t("didDiscard", { name, card: cardName(texts, kind.value.card) });
    default:
      return "";
  }
}

/** A change of a room in words; empty for what needs none. `before` holds the names before the change; `stockEmpty`
 * as for an action. */
export function tellChange(
  texts: Texts,
  room: Room,
  before: readonly string[],
  change: Change,
  stockEmpty: boolean,
): string[] {
  const names = seatNames(texts, room.seats);
  const { kind } = change;
  switch (kind.case) {
    case "seatChanged": {
      const { cause, seat } = kind.value;
      const key = CAUSES[cause];
      if (!key || !seat) return [];
      const name = cause === SeatChangeCause.LEFT ? before[seat.seat] : names[seat.seat];
      return [texts.t(key, { name: name ?? "" })];
    }
    case "hostChanged": {
      const host = room.seats.find(
        ({ holder }) => holder.case === "player" && holder.value.playerId === kind.value.hostPlayerId,
      );
      return host ? [texts.t("didHost", { name: names[host.seat] ?? "" })] : [];
    }
    case "matchStarted":
      return [texts.t("didStart")];
    case "roundStarted":
      return [texts.t("didDeal", { n: kind.value.roundNumber, name: names[kind.value.startingSeat] ?? "" })];
    case "actionPlayed": {
      const { action, seat, drawn } = kind.value;
      return action ? [tellAction(texts, names[seat] ?? "", action, drawn, stockEmpty)] : [];
    }
    case "roundEnded": {
      const { result } = kind.value;
      const key = ROUND_ENDS[result?.reason ?? 0];
      if (!result || !key) return [];
      const name = names[result.winnerSeat] ?? "";
      return [texts.t(key, { name }), texts.n("didWinRound", result.points, { name })];
    }
    case "matchEnded": {
      const { result } = kind.value;
      if (result?.reason === MatchEndReason.ABANDONED) return [texts.t("didAbandon")];
      return [texts.t("didWinMatch", { name: names[result?.winnerSeat ?? 0] ?? "" })];
    }
    case "rematchCreated":
      return [texts.t("didRematch")];
    case "roomClosed":
      return [texts.t("didClose")];
    default:
      return [];
  }
}
