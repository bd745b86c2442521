/** What is held of a room after each kind of news, and what a hand can do with it. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { choicesFor, hintsFrom, usefulCards } from "../../src/app/choices.ts";
import { arranged, moved } from "../../src/app/parts/Hand.tsx";
import {
  type Action,
  ActionSchema,
  type Change,
  EventSchema,
  LegalActionsSchema,
  Phase,
  parseCard,
  RoomStatus,
  RoundEndedSchema,
  RoundEndReason,
  RoundStartedSchema,
  SnapshotSchema,
} from "../../src/client/index.ts";
import {
  afterEvent,
  afterSnapshot,
  DivergedError,
  GapError,
  type TableState,
  withLegalActions,
} from "../../src/client/mirror.ts";

const cards = (text: string) => text.split(" ").map(parseCard);

function held(): TableState {
  const snapshot = create(SnapshotSchema, {
    room: {
      roomId: "p0-x",
      status: RoomStatus.IN_MATCH,
      version: 10n,
      seats: [
        { seat: 0, holder: { case: "player", value: { playerId: "ada", displayName: "Ada" } } },
        { seat: 1, holder: { case: "bot", value: { bot: "easy" } } },
      ],
    },
    view: {
      players: 2,
      seat: 0,
      phase: Phase.DRAW,
      turnSeat: 0,
      turnNumber: 1,
      roundNumber: 1,
      scores: [0, 0],
      hand: cards("2C 3C 9H"),
      handSizes: [3, 7],
      stockSize: 1,
      discards: cards("KH"),
    },
    cursor: Uint8Array.of(1),
  });
  return afterSnapshot(snapshot, "ada");
}

function acted(version: bigint, seat: number, kind: Action["kind"], drawn?: string) {
  const action = create(ActionSchema, { kind });
  const value = { seat, action, ...(drawn && { drawn: parseCard(drawn) }) };
  return create(EventSchema, {
    version,
    cursor: Uint8Array.of(2),
    changes: [{ kind: { case: "actionPlayed", value } }],
  });
}

const fromStock = create(ActionSchema, { kind: { case: "drawStock", value: {} } }).kind;

test("an event that follows is applied, and what was held before stays as it was", () => {
  const before = held();
  const after = afterEvent(before, acted(11n, 0, fromStock, "4C"), "ada");
  expect(after?.view).toMatchObject({ phase: Phase.PLAY, stockSize: 0, hand: cards("2C 3C 4C 9H"), handSizes: [4, 7] });
  expect(after?.room.version).toBe(11n);
  expect(after?.cursor).toEqual(Uint8Array.of(2));
  expect(before.view?.hand).toEqual(cards("2C 3C 9H"));
});

test("how a round has ended is known from its event and from a snapshot, until the next is dealt", () => {
  const ended = create(RoundEndedSchema, {
    result: { roundNumber: 1, reason: RoundEndReason.WENT_OUT, winnerSeat: 1, scores: [0, 12] },
    hands: [
      { seat: 0, cards: cards("2C 3C 9H") },
      { seat: 1, cards: [] },
    ],
  });
  const step = (version: bigint, kind: Change["kind"]) =>
    create(EventSchema, { version, cursor: Uint8Array.of(2), changes: [{ kind }] });
  expect(held().roundEnded).toBeUndefined();
  const after = afterEvent(held(), step(11n, { case: "roundEnded", value: ended }), "ada") as TableState;
  expect(after.roundEnded).toEqual(ended);
  const { room, view } = after;
  const snapshot = create(SnapshotSchema, { room, ...(view && { view }), roundEnded: ended });
  expect(afterSnapshot(snapshot, "ada").roundEnded).toEqual(ended);
  const dealt = create(RoundStartedSchema, { roundNumber: 2, hand: cards("2C"), handSize: 1, upCard: parseCard("KH") });
  expect(afterEvent(after, step(12n, { case: "roundStarted", value: dealt }), "ada")?.roundEnded).toBeUndefined();
});

test("an event that was applied before is dropped, and one that skips another is a gap", () => {
  expect(afterEvent(held(), acted(10n, 0, fromStock, "4C"), "ada")).toBeUndefined();
  expect(() => afterEvent(held(), acted(12n, 0, fromStock, "4C"), "ada")).toThrow(GapError);
});

test("an event that cannot follow asks for a snapshot", () => {
  expect(() => afterEvent(held(), acted(11n, 1, fromStock), "ada")).toThrow(DivergedError); // another's turn
  expect(() => afterEvent(held(), acted(11n, 0, fromStock), "ada")).toThrow(DivergedError); // the own card is missing
  const discard = create(ActionSchema, { kind: { case: "discard", value: { card: parseCard("AS") } } }).kind;
  expect(() => afterEvent(held(), acted(11n, 0, discard), "ada")).toThrow(DivergedError); // before drawing
});

test("legal actions count for the version that they name only", () => {
  const state = held();
  const legal = (version: bigint) => create(LegalActionsSchema, { version, actions: [{ kind: fromStock }] });
  expect(withLegalActions(state, legal(10n)).legal?.actions).toHaveLength(1);
  expect(withLegalActions(state, legal(9n)).legal).toBeUndefined();
});

function list(...kinds: [string, string, number?][]): Action[] {
  return kinds.map(([name, text, meld]) => {
    const held = cards(text);
    if (name === "meld") return create(ActionSchema, { kind: { case: "meld", value: { cards: held } } });
    if (name === "layOff")
      return create(ActionSchema, { kind: { case: "layOff", value: { cards: held, meld: meld ?? 0 } } });
    return create(ActionSchema, { kind: { case: "discard", value: { card: held[0] as number } } });
  });
}

const LEGAL = list(
  ["meld", "2C 3C 4C"],
  ["meld", "3C 4C 5C"],
  ["meld", "2C 3C 4C 5C"],
  ["layOff", "9H", 1],
  ["layOff", "9H", 2],
  ["discard", "9H"],
  ["discard", "2C"],
);

test("a selection can do what the server's list says, whatever the order of its cards", () => {
  expect(choicesFor(LEGAL, cards("4C 2C 3C")).meld).toBe(LEGAL[0]);
  expect(choicesFor(LEGAL, cards("2C 3C")).meld).toBeUndefined();
  const nine = choicesFor(LEGAL, cards("9H"));
  expect([...nine.layOffs.keys()]).toEqual([1, 2]);
  expect(nine.discard).toBe(LEGAL[5]);
  expect(choicesFor(LEGAL, []).discard).toBeUndefined();
});

test("hints name the largest melds, and every place for a lay-off", () => {
  expect(hintsFrom(LEGAL)).toEqual([LEGAL[2], LEGAL[3], LEGAL[4]]);
  expect([...usefulCards(LEGAL)].sort((a, b) => a - b)).toEqual(cards("2C 3C 4C 5C 9H"));
});

test("a hand is kept as its player wants it", () => {
  const hand = cards("2C KD 2H 9S");
  expect(arranged(hand, "suit", [])).toEqual(cards("2C KD 9S 2H"));
  expect(arranged(hand, "rank", [])).toEqual(cards("2C 2H 9S KD"));
  expect(arranged(hand, "free", cards("9S AS 2C"))).toEqual(cards("9S 2C KD 2H"));
  expect(moved(hand, parseCard("9S"), parseCard("KD"))).toEqual(cards("2C 9S KD 2H"));
  expect(moved(hand, parseCard("2C"), undefined)).toEqual(cards("KD 2H 9S 2C"));
  expect(moved(hand, parseCard("2C"), parseCard("2C"))).toEqual(hand);
});
