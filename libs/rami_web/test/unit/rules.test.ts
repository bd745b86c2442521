/** The rules against recorded games, shuffles and hands that an independent implementation made. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  type Action,
  ActionSchema,
  deal,
  deckForRound,
  formatCard,
  fromHex,
  isRun,
  isSet,
  type Match,
  newMatch,
  parseCard,
  play,
  RoundEndReason,
  refusal,
  sha256,
  toHex,
} from "../../src/client/index.ts";
import { ROOT } from "../support/cluster.ts";

interface RecordedAction {
  t: string;
  cards?: string[];
  card?: string;
  meld?: number;
}

interface Recorded {
  id: string;
  players: number;
  options: { ace_high: boolean; discard_to_win: boolean; target_score: number };
  max_turns_per_round: number;
  winner: number | null;
  rounds: {
    deck: string[];
    steps: {
      seat: number;
      action: RecordedAction;
      error?: string;
      after?: { hands: string[][]; stock: number; discards: string[]; melds: string[][]; turn: number };
    }[];
    end?: { reason: string; winner: number; points: number; hand_points: number[]; scores: number[] };
  }[];
}

function lines<Row>(name: string): Row[] {
  const text = readFileSync(join(ROOT, "tests/golden/data", name), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function toAction({ t, cards = [], card = "", meld = 0 }: RecordedAction): Action {
  const held = cards.map(parseCard);
  switch (t) {
    case "draw_stock":
      return create(ActionSchema, { kind: { case: "drawStock", value: {} } });
    case "draw_discard":
      return create(ActionSchema, { kind: { case: "drawDiscard", value: {} } });
    case "meld":
      return create(ActionSchema, { kind: { case: "meld", value: { cards: held } } });
    case "lay_off":
      return create(ActionSchema, { kind: { case: "layOff", value: { cards: held, meld } } });
    default:
      return create(ActionSchema, { kind: { case: "discard", value: { card: parseCard(card) } } });
  }
}

function shown(match: Match) {
  return {
    hands: match.hands.map((hand) => hand.map(formatCard)),
    stock: match.stock.length,
    discards: match.discards.map(formatCard),
    melds: match.melds.map((meld) => meld.map(formatCard)),
    turn: match.turnSeat,
  };
}

test("every recorded game plays as it was recorded, refusals included", () => {
  let accepted = 0;
  let refused = 0;
  for (const game of lines<Recorded>("games.jsonl")) {
    const { target_score, ace_high, discard_to_win } = game.options;
    let match = newMatch(
      game.players,
      { targetScore: target_score, aceHigh: ace_high, discardToWin: discard_to_win },
      { maxTurnsPerRound: game.max_turns_per_round, maxTurnsPerMatch: 10_000 },
    );
    for (const round of game.rounds) {
      match = deal(match, round.deck.map(parseCard));
      for (const { seat, action, error, after } of round.steps) {
        if (error) {
          // The next round of a record is dealt at its first step, so that a refusal between rounds names the phase.
          expect(refusal(match, seat, toAction(action)), `${game.id} ${JSON.stringify(action)}`).toBe(error);
          refused++;
          continue;
        }
        match = play(match, seat, toAction(action)).match;
        accepted++;
        if (after) {
          const { hands, stock, discards, melds, turn } = after;
          expect(shown(match), game.id).toEqual({ hands, stock, discards, melds, turn });
        }
      }
      if (round.end) {
        const { reason, winner, points, hand_points, scores } = round.end;
        const played = match.lastRound;
        expect(
          [
            RoundEndReason[played?.reason ?? 0]?.toLowerCase(),
            played?.winnerSeat,
            played?.points,
            played?.handPoints,
            played?.scores,
          ],
          game.id,
        ).toEqual([reason.toLowerCase(), winner, points, hand_points, scores]);
      }
    }
    expect(match.winnerSeat ?? null, game.id).toBe(game.winner);
  }
  expect(accepted).toBeGreaterThan(1000);
  expect(refused).toBeGreaterThan(10);
});

test("every recorded shuffle gives the recorded deck, and its seed hashes to the one before", async () => {
  interface Shuffle {
    round: number;
    entropies: string[];
    seed: string;
    previous_seed: string;
    deck: string;
  }
  for (const { round, entropies, seed, previous_seed, deck } of lines<Shuffle>("shuffles.jsonl")) {
    const made = await deckForRound(fromHex(seed), round, entropies.map(fromHex));
    expect(made.map(formatCard).join(" ")).toBe(deck);
    expect(toHex(await sha256(fromHex(seed)))).toBe(previous_seed);
  }
});

test("an ace stands only above the king", () => {
  const cards = (text: string) => text.split(" ").map(parseCard);
  expect(isRun(cards("QH KH AH"))).toBe(true);
  expect(isRun(cards("AH 2H 3H"))).toBe(false);
  expect(isRun(cards("KH AH 2H"))).toBe(false);
  expect(isRun(cards("KC AC 2D"))).toBe(false); // neighbours by number, of two suits
  expect(isSet(cards("7C 7D 7S"))).toBe(true);
  expect(isSet(cards("7C 7D"))).toBe(false);
});

test("cards are written and read alike, and nothing else is a card", () => {
  for (let card = 1; card <= 52; card++) expect(parseCard(formatCard(card))).toBe(card);
  for (const text of ["", "7", "1H", "10H", "7h", "H7"]) expect(() => parseCard(text)).toThrow(RangeError);
});
