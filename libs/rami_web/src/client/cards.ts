/**
 * Cards: their numbers, their texts and their points.
 *
 * The contract's number of a card is its index plus one, and its index is suit * 13 + rank: clubs 0, diamonds 1,
 * hearts 2, spades 3; rank 2 = 0 up to ace = 12. Everything in this library uses the contract's enum.
 */
import { Card } from "../gen/rami/cards/v1/card_pb.ts";

export { Card };

export const RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A"] as const;
export const SUITS = ["C", "D", "H", "S"] as const;
export type Rank = (typeof RANKS)[number];
export type Suit = (typeof SUITS)[number];

/** The rank of a card as a number: 0 for the two up to 12 for the ace. */
export function rankNumber(card: Card): number {
  return (card - 1) % 13;
}

/** The suit of a card as a number: clubs 0, diamonds 1, hearts 2, spades 3. */
export function suitNumber(card: Card): number {
  return Math.floor((card - 1) / 13);
}

export function rankOf(card: Card): Rank {
  return RANKS[rankNumber(card)] as Rank;
}

export function suitOf(card: Card): Suit {
  return SUITS[suitNumber(card)] as Suit;
}

/** "7H", "TD", "AS": rank then suit, the same in every language. */
export function formatCard(card: Card): string {
  return rankOf(card) + suitOf(card);
}

/** The card of a text such as "7H". Throws RangeError for a text that is no card. */
export function parseCard(text: string): Card {
  const rank = RANKS.indexOf(text[0] as Rank);
  const suit = SUITS.indexOf(text[1] as Suit);
  if (rank < 0 || suit < 0 || text.length !== 2) throw new RangeError(`no card: ${JSON.stringify(text)}`);
  return suit * 13 + rank + 1;
}

/** What a card left in a hand costs. */
export function cardPoints(card: Card, aceHigh: boolean): number {
  const rank = rankNumber(card);
  if (rank === 12) return aceHigh ? 11 : 1;
  return Math.min(rank + 2, 10);
}

export function handPoints(cards: readonly Card[], aceHigh: boolean): number {
  return cards.reduce((sum, card) => sum + cardPoints(card, aceHigh), 0);
}

/** The cards in ascending order of their index, as the server sends them. */
export function ascending(cards: readonly Card[]): Card[] {
  return [...cards].sort((a, b) => a - b);
}

/** The cards that are left when some are taken away. */
export function without(cards: readonly Card[], taken: readonly Card[]): Card[] {
  return cards.filter((card) => !taken.includes(card));
}

/** Whether two lists hold the same cards in whatever order. */
export function sameCards(a: readonly Card[], b: readonly Card[]): boolean {
  return a.length === b.length && a.every((card) => b.includes(card));
}
