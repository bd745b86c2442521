/** Everything that can happen is told in every language, with every name and number filled in. */
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { LOCALES, negotiate, Texts } from "../../src/app/i18n.ts";
import { explain } from "../../src/app/problems.ts";
import { seatNames, tellChange } from "../../src/app/story.ts";
import {
  ActionRefusedError,
  ChangeSchema,
  MatchEndReason,
  parseCard,
  RamiError,
  type Reason,
  RoomSchema,
  RoundEndReason,
  SeatChangeCause,
  StaleVersionError,
  UnavailableError,
} from "../../src/client/index.ts";

const room = create(RoomSchema, {
  hostPlayerId: "ada",
  seats: [
    { seat: 0, holder: { case: "player", value: { playerId: "ada", displayName: "Ada" } } },
    { seat: 1, holder: { case: "player", value: { playerId: "ada-2", displayName: "Ada" } } },
    { seat: 2, holder: { case: "bot", value: { bot: "hard" } } },
    { seat: 3, holder: { case: "bot", value: { bot: "own-profile" } } },
  ],
});
const seven = parseCard("7H");
const played = (kind: object, drawn?: number) => ({
  case: "actionPlayed" as const,
  value: { seat: 2, action: { kind }, drawn } as object,
});
const ended = (reason: RoundEndReason) => ({
  case: "roundEnded" as const,
  value: { result: { roundNumber: 1, reason, winnerSeat: 2, points: 21 } },
});
const seated = (cause: SeatChangeCause) => ({ case: "seatChanged" as const, value: { seat: room.seats[0], cause } });
const told = [
  ...[SeatChangeCause.JOINED, SeatChangeCause.LEFT, SeatChangeCause.TIMED_OUT, SeatChangeCause.RETURNED].map(seated),
  { case: "hostChanged" as const, value: { hostPlayerId: "ada" } },
  { case: "matchStarted" as const, value: {} },
  { case: "roundStarted" as const, value: { roundNumber: 2, startingSeat: 1 } },
  played({ case: "drawStock", value: {} }),
  played({ case: "drawStock", value: {} }, seven),
  played({ case: "drawDiscard", value: {} }, seven),
  played({ case: "meld", value: { cards: [seven, seven + 1, seven + 2] } }),
  played({ case: "layOff", value: { meld: 3, cards: [seven] } }),
  played({ case: "discard", value: { card: seven } }),
  ...[RoundEndReason.WENT_OUT, RoundEndReason.STOCK_EXHAUSTED, RoundEndReason.TURN_LIMIT].map(ended),
  { case: "matchEnded" as const, value: { result: { reason: MatchEndReason.TARGET_SCORE, winnerSeat: 2 } } },
  { case: "matchEnded" as const, value: { result: { reason: MatchEndReason.ABANDONED } } },
  { case: "rematchCreated" as const, value: { roomId: "p0-x" } },
  { case: "roomClosed" as const, value: {} },
].map((kind) => create(ChangeSchema, { kind } as Parameters<typeof create<typeof ChangeSchema>>[1]));

test.each(LOCALES)("everything that happens is told in $tag", (locale) => {
  const texts = new Texts(locale);
  const names = seatNames(texts, room.seats);
  const lines = told.flatMap((change) => {
    const said = tellChange(texts, room, names, change, false);
    expect(said.length, change.kind.case).toBeGreaterThan(0);
    return said;
  });
  for (const line of lines) expect(line).not.toMatch(/[{}]|undefined|^$/);
  expect(lines.join("\n")).toContain(locale.card("7", "H"));
  expect(new Set(lines).size).toBeGreaterThan(20);
});

test("what needs no words gets none", () => {
  const quiet = create(ChangeSchema, {
    kind: { case: "seatChanged", value: { seat: room.seats[0], cause: SeatChangeCause.ENTROPY } },
  });
  expect(tellChange(new Texts(negotiate(["en"])), room, [], quiet, false)).toEqual([]);
});

test("players of one name are told apart, and unknown bots keep their id", () => {
  expect(seatNames(new Texts(negotiate(["en"])), room.seats)).toEqual([
    "Ada 1",
    "Ada 2",
    "Bot 3 (hard)",
    "Bot 4 (own-profile)",
  ]);
});

test("an empty stock that is asked for is told as such", () => {
  const draw = create(ChangeSchema, {
    kind: { case: "actionPlayed", value: { seat: 0, action: { kind: { case: "drawStock", value: {} } } } },
  });
  expect(tellChange(new Texts(negotiate(["en"])), room, [], draw, true)).toEqual(["Ada 1 asks for the empty stock"]);
});

test("errors are explained: in our words, else in the server's if it speaks the language, else by their reason", () => {
  const texts = new Texts(negotiate(["cs"]));
  const failure = (code: Code, reason: Reason, localized?: { locale: string; message: string }) => ({
    code,
    reason,
    localized,
    message: "for developers",
    metadata: {},
    fieldViolations: [],
    retryAfterMs: undefined,
  });
  const stale = new StaleVersionError(failure(Code.Aborted, "STALE_VERSION"));
  expect(explain(texts, stale)).toBe("Hra se posunula. Vyberte znovu.");
  const refused = new ActionRefusedError(failure(Code.FailedPrecondition, "INVALID_MELD"));
  expect(explain(texts, refused)).toBe("To teď pravidla nedovolují.");
  const away = new UnavailableError(failure(Code.Unavailable, ""));
  expect(explain(texts, away)).toBe("Server není dostupný.");
  const local = new RamiError(failure(Code.PermissionDenied, "NOT_HOST", { locale: "cs", message: "Jen hostitel." }));
  expect(explain(texts, local)).toBe("Jen hostitel.");
  const other = new RamiError(failure(Code.PermissionDenied, "NOT_HOST", { locale: "en", message: "Only the host." }));
  expect(explain(texts, other)).toBe("Nepovedlo se to (NOT_HOST).");
});
