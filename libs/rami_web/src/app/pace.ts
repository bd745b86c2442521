/**
 * How fast a table from the queue plays. Only tickets of the same pace meet, so there are few paces, and the normal one
 * is that of every client which asks for none.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { TicketCriteriaSchema } from "../gen/rami/matchmaking/v1/matchmaking_service_pb.ts";
import type { TextKey } from "./i18n.ts";

export const PACES = ["relaxed", "normal", "fast"] as const;
export type Pace = (typeof PACES)[number];

interface Terms {
  name: TextKey;
  /** Seconds for a turn; 0 for no limit. */
  turnSeconds: number;
  /** What a ticket asks for. */
  criteria: Pick<MessageInitShape<typeof TicketCriteriaSchema>, "turnTimeLimit" | "roundInterval">;
}

const TERMS: Readonly<Record<Pace, Terms>> = {
  relaxed: {
    name: "paceRelaxed",
    turnSeconds: 0,
    // A round result is worth a look where nobody is in a hurry.
    criteria: { turnTimeLimit: { seconds: 0n }, roundInterval: { seconds: 5n } },
  },
  normal: { name: "paceNormal", turnSeconds: 60, criteria: {} },
  fast: { name: "paceFast", turnSeconds: 20, criteria: { turnTimeLimit: { seconds: 20n } } },
};

export function paceTerms(pace: Pace): Terms {
  return TERMS[pace];
}

/** The pace that was kept; the normal one where none was, or something that is none. */
export function paceFrom(kept: unknown): Pace {
  return PACES.find((pace) => pace === kept) ?? "normal";
}
