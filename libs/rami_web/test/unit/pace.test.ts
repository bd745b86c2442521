/** The paces of a quick match: what a ticket asks for, and what becomes of a remembered choice. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PACES, paceFrom, paceTerms } from "../../src/app/pace.ts";
import { TicketCriteriaSchema } from "../../src/gen/rami/matchmaking/v1/matchmaking_service_pb.ts";

test.each(PACES)("%s: the ticket asks for the time that the page names", (pace) => {
  const { turnSeconds, criteria } = paceTerms(pace);
  const { turnTimeLimit } = create(TicketCriteriaSchema, criteria);
  // Without a wish the contract gives a minute.
  expect(turnTimeLimit ? Number(turnTimeLimit.seconds) : 60).toBe(turnSeconds);
});

test("the normal pace asks for nothing, and so meets every client that asks for nothing", () => {
  expect(create(TicketCriteriaSchema, paceTerms("normal").criteria)).toEqual(create(TicketCriteriaSchema));
});

test("no two paces are the same, and the relaxed one alone has no limit", () => {
  expect(new Set(PACES.map((pace) => paceTerms(pace).turnSeconds)).size).toBe(PACES.length);
  expect(PACES.filter((pace) => paceTerms(pace).turnSeconds === 0)).toEqual(["relaxed"]);
});

test("a remembered pace is taken, and anything else is normal", () => {
  expect(PACES.map(paceFrom)).toEqual(PACES);
  for (const kept of [undefined, null, "", "hasty", 3, {}]) expect(paceFrom(kept)).toBe("normal");
});
