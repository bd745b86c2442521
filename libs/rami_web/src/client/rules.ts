/**
 * The rules, as far as a client needs them: to replay and check a match that has been played. While a match is
 * played the server's list of legal actions is the one to go by.
 *
 * Source: the rule sheet that RuleSheetService serves.
 */
import type { Action } from "../gen/rami/game/v1/action_pb.ts";
import { RoundEndReason } from "../gen/rami/game/v1/rules_pb.ts";
import { ascending, type Card, handPoints, rankNumber, suitNumber, without } from "./cards.ts";
import type { Reason } from "./errors.ts";

export interface Options {
  targetScore: number;
  aceHigh: boolean;
  discardToWin: boolean;
}

export interface Limits {
  maxTurnsPerRound: number;
  maxTurnsPerMatch: number;
}

/** How a round ended. */
export interface RoundOutcome {
  roundNumber: number;
  reason: RoundEndReason;
  winnerSeat: number;
  points: number;
  handPoints: number[];
  scores: number[];
}

export type MatchPhase = "draw" | "play" | "roundOver" | "matchOver" | "notStarted";

/** A match with every card face up. */
export interface Match {
  players: number;
  options: Options;
  limits: Limits;
  scores: number[];
  phase: MatchPhase;
  roundNumber: number;
  /** The seat to move; after a round or the match, the seat that acted last. */
  turnSeat: number;
  /** Completed turns of the round, and of the match. */
  turns: number;
  matchTurns: number;
  hands: Card[][];
  /** What is left of the stock, its top first. */
  stock: Card[];
  /** Oldest first. */
  discards: Card[];
  melds: Card[][];
  lastRound: RoundOutcome | undefined;
  winnerSeat: number | undefined;
}

/** An action that the rules refuse. */
export class IllegalActionError extends Error {
  override readonly name = "IllegalActionError";
  readonly reason: Reason;

  constructor(reason: Reason) {
    super(reason);
    this.reason = reason;
  }
}

export function newMatch(players: number, options: Options, limits: Limits): Match {
  return {
    players,
    options,
    limits,
    scores: Array.from({ length: players }, () => 0),
    phase: "notStarted",
    roundNumber: 0,
    turnSeat: 0,
    turns: 0,
    matchTurns: 0,
    hands: Array.from({ length: players }, () => []),
    stock: [],
    discards: [],
    melds: [],
    lastRound: undefined,
    winnerSeat: undefined,
  };
}

/** The number of cards that every seat is dealt. */
export function handSize(players: number): number {
  return players === 2 ? 7 : 10;
}

/** Whether cards are a set: three or four of one rank. All cards differ. */
export function isSet(cards: readonly Card[]): boolean {
  const first = cards[0];
  return first !== undefined && cards.length >= 3 && cards.every((card) => rankNumber(card) === rankNumber(first));
}

/** Whether cards are a run: three or more of one suit in sequence, the ace above the king only. All cards differ. */
export function isRun(cards: readonly Card[]): boolean {
  const first = cards[0];
  if (first === undefined || cards.length < 3) return false;
  const ordered = ascending(cards);
  const low = ordered[0] as Card;
  return ordered.every((card, index) => card === low + index && suitNumber(card) === suitNumber(low));
}

export function isMeld(cards: readonly Card[]): boolean {
  return isSet(cards) || isRun(cards);
}

/** Deals the next round from a whole deck. Trusts the caller that no round is in play. */
export function deal(match: Match, deck: readonly Card[]): Match {
  const number = match.roundNumber + 1;
  const start = (number - 1) % match.players;
  const dealt = match.players * handSize(match.players);
  const hands = Array.from({ length: match.players }, (_, seat) =>
    ascending(deck.slice(0, dealt).filter((_card, place) => (start + place) % match.players === seat)),
  );
  return {
    ...match,
    phase: "draw",
    roundNumber: number,
    turnSeat: start,
    turns: 0,
    hands,
    discards: deck.slice(dealt, dealt + 1),
    stock: deck.slice(dealt + 1),
    melds: [],
  };
}

/** Why the rules refuse an action, or undefined when it is legal: the first reason in the order of the rules. */
export function refusal(match: Match, seat: number, action: Action): Reason | undefined {
  if (match.phase === "notStarted") return "MATCH_NOT_STARTED";
  if (match.phase === "matchOver") return "MATCH_OVER";
  if (match.phase === "roundOver") return "WRONG_PHASE";
  if (seat !== match.turnSeat) return "NOT_YOUR_TURN";
  const { kind } = action;
  const draws = kind.case === "drawStock" || kind.case === "drawDiscard";
  if (draws !== (match.phase === "draw")) return "WRONG_PHASE";
  if (draws) return undefined;
  const hand = match.hands[seat] as Card[];
  const cards = actionCards(action);
  if (cards.some((card) => !hand.includes(card))) return "CARD_NOT_IN_HAND";
  if (kind.case === "discard") return undefined;
  if (kind.case === "meld") {
    if (!isMeld(cards)) return "INVALID_MELD";
  } else if (kind.case === "layOff") {
    const meld = match.melds[kind.value.meld - 1];
    if (!meld) return "MELD_NOT_FOUND";
    if (!isMeld([...meld, ...cards])) return "INVALID_LAY_OFF";
  }
  return cards.length === hand.length && match.options.discardToWin ? "MUST_KEEP_DISCARD" : undefined;
}

/** The cards that an action moves out of the hand. */
export function actionCards(action: Action): Card[] {
  switch (action.kind.case) {
    case "meld":
    case "layOff":
      return action.kind.value.cards;
    case "discard":
      return [action.kind.value.card];
    default:
      return [];
  }
}

/** The match after an action, and the card that it drew. Throws IllegalActionError. */
export function play(match: Match, seat: number, action: Action): { match: Match; drawn: Card | undefined } {
  const reason = refusal(match, seat, action);
  if (reason) throw new IllegalActionError(reason);
  const { kind } = action;
  const hand = match.hands[seat] as Card[];
  const holding = (cards: Card[]) => match.hands.map((held, at) => (at === seat ? ascending(cards) : held));
  if (kind.case === "drawStock" || kind.case === "drawDiscard") {
    const fromStock = kind.case === "drawStock";
    const drawn = fromStock ? match.stock[0] : match.discards.at(-1);
    if (drawn === undefined) {
      if (!fromStock) throw new IllegalActionError("WRONG_PHASE");
      return { match: ended(match, RoundEndReason.STOCK_EXHAUSTED), drawn };
    }
    const rest = fromStock ? { stock: match.stock.slice(1) } : { discards: match.discards.slice(0, -1) };
    return { match: { ...match, ...rest, hands: holding([...hand, drawn]), phase: "play" }, drawn };
  }
  const cards = actionCards(action);
  const hands = holding(without(hand, cards));
  const out = cards.length === hand.length;
  if (kind.case === "discard") {
    const next: Match = {
      ...match,
      hands,
      discards: [...match.discards, ...cards],
      turns: match.turns + 1,
      matchTurns: match.matchTurns + 1,
    };
    if (out) return { match: ended(next, RoundEndReason.WENT_OUT), drawn: undefined };
    if (next.turns >= match.limits.maxTurnsPerRound) {
      return { match: ended(next, RoundEndReason.TURN_LIMIT), drawn: undefined };
    }
    return { match: { ...next, turnSeat: (seat + 1) % match.players, phase: "draw" }, drawn: undefined };
  }
  const melds =
    kind.case === "layOff"
      ? match.melds.map((meld, at) => (at === kind.value.meld - 1 ? ascending([...meld, ...cards]) : meld))
      : [...match.melds, ascending(cards)];
  const next: Match = { ...match, hands, melds };
  return { match: out ? ended(next, RoundEndReason.WENT_OUT) : next, drawn: undefined };
}

function ended(match: Match, reason: RoundEndReason): Match {
  const worth = match.hands.map((hand) => handPoints(hand, match.options.aceHigh));
  // A seat that went out holds nothing, which is least as well; among equals the lowest seat wins.
  const winner = worth.indexOf(Math.min(...worth));
  const points = worth.reduce((sum, value) => sum + value, 0) - (worth[winner] as number);
  const scores = match.scores.map((score, seat) => (seat === winner ? score + points : score));
  let winnerSeat: number | undefined;
  if ((scores[winner] as number) >= match.options.targetScore) winnerSeat = winner;
  else if (match.matchTurns >= match.limits.maxTurnsPerMatch) winnerSeat = scores.indexOf(Math.max(...scores));
  return {
    ...match,
    scores,
    winnerSeat,
    phase: winnerSeat === undefined ? "roundOver" : "matchOver",
    lastRound: { roundNumber: match.roundNumber, reason, winnerSeat: winner, points, handPoints: worth, scores },
  };
}
