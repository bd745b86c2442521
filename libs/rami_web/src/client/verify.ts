/**
 * Checking a replay from its commitment to its winner, and walking through it with every card face up.
 *
 * Nothing in a replay is trusted: each seed must hash to the one before it, from the commitment on; each deck is
 * made anew from its seed and the entropies; each action is played by the rules; and the recorded results must be
 * those that follow. The first place where that fails is named.
 */
import type { Action } from "../gen/rami/game/v1/action_pb.ts";
import type { GetReplayResponse } from "../gen/rami/game/v1/game_service_pb.ts";
import type { ReplayHeader, ReplayRound } from "../gen/rami/game/v1/replay_pb.ts";
import { MatchEndReason, type RoundResult } from "../gen/rami/game/v1/rules_pb.ts";
import type { Card } from "./cards.ts";
import { deal, IllegalActionError, type Match, newMatch, play, type RoundOutcome } from "./rules.ts";
import { deckForRound, sameBytes, sha256 } from "./shuffle.ts";

export const RULES_ID = "cardverse.rami";
export const RULES_VERSION = "1.1.0";

/** What a client saw of a match before it began: what the replay must keep to. */
export interface Promised {
  commitment: Uint8Array;
  /** The own seat and what it brought; unset for nothing. */
  entropy?: { seat: number; bytes: Uint8Array } | undefined;
}

/** A match right after a deal or an action. */
export interface Moment {
  roundNumber: number;
  /** The number of the action in its round, from 1; 0 for the deal. */
  actionNumber: number;
  match: Match;
  seat: number | undefined;
  action: Action | undefined;
  drawn: Card | undefined;
}

export interface VerifiedReplay {
  /** Rounds whose seed, deck, actions and result were checked. */
  rounds: number;
  actions: number;
  scores: number[];
  winnerSeat: number | undefined;
  /** The round in play, whose seed is not revealed and whose actions so cannot be checked. */
  uncheckedRound: number | undefined;
  /** Whether what was promised before the match was compared as well. */
  promiseKept: boolean;
  moments: Moment[];
}

/** What is wrong with a replay; every kind has one text for developers. */
export type ReplayFault =
  | "rules"
  | "incomplete"
  | "commitment"
  | "entropy"
  | "seed"
  | "seats"
  | "order"
  | "action"
  | "result"
  | "winner";

/** A replay that is not what it claims to be, with the place: round 0 stands for the whole, action 0 for the round. */
export class ReplayError extends Error {
  override readonly name = "ReplayError";

  constructor(
    readonly fault: ReplayFault,
    readonly roundNumber: number,
    readonly actionNumber: number,
    description: string,
  ) {
    super(`round ${roundNumber}, action ${actionNumber}: ${description}`);
  }
}

/** Checks a whole replay (all pages in one). Throws ReplayError. */
export async function verifyReplay(replay: GetReplayResponse, promised?: Promised): Promise<VerifiedReplay> {
  const header = checkedHeader(replay, promised);
  const { options, guards } = header;
  if (!options || !guards) throw new ReplayError("rules", 0, 0, "it has no options or guards");
  let match = newMatch(
    header.seats.length,
    { targetScore: options.targetScore ?? 100, aceHigh: options.aceHigh, discardToWin: options.discardToWin },
    guards,
  );
  const moments: Moment[] = [];
  let previous = header.commitment;
  let actions = 0;
  let uncheckedRound: number | undefined;
  let version = 0n;
  for (const [index, round] of replay.rounds.entries()) {
    const number = index + 1;
    const last = number === replay.rounds.length;
    if (round.roundNumber !== number) throw new ReplayError("order", number, 0, `recorded as ${round.roundNumber}`);
    if (round.seed.length === 0) {
      if (round.result || header.result || !last) throw new ReplayError("seed", number, 0, "its seed is missing");
      uncheckedRound = number;
      break;
    }
    if (!sameBytes(await sha256(round.seed), previous)) {
      throw new ReplayError("seed", number, 0, "its seed does not hash to the one before it");
    }
    if (match.phase !== "notStarted" && match.phase !== "roundOver") {
      throw new ReplayError("order", number, 0, "the round before it did not end, or the match was over");
    }
    match = deal(match, await deckForRound(round.seed, number, header.entropies));
    moments.push({ roundNumber: number, actionNumber: 0, match, seat: undefined, action: undefined, drawn: undefined });
    for (const moment of replayed(match, round)) {
      moments.push(moment);
      match = moment.match;
      const recorded = round.actions[moment.actionNumber - 1]?.version ?? 0n;
      if (recorded < version) throw new ReplayError("order", number, moment.actionNumber, "its version is too low");
      version = recorded;
    }
    checkResult(round, match, header, last);
    previous = round.seed;
    actions += round.actions.length;
  }
  checkEnd(header, match);
  return {
    rounds: replay.rounds.length - (uncheckedRound === undefined ? 0 : 1),
    actions,
    scores: match.scores,
    winnerSeat: match.winnerSeat,
    uncheckedRound,
    promiseKept: promised !== undefined,
    moments,
  };
}

function checkedHeader(replay: GetReplayResponse, promised: Promised | undefined): ReplayHeader {
  const { header } = replay;
  if (!header) throw new ReplayError("incomplete", 0, 0, "it has no header");
  if (header.rulesId !== RULES_ID || header.rulesVersion !== RULES_VERSION) {
    throw new ReplayError("rules", 0, 0, `was played by ${header.rulesId} ${header.rulesVersion}`);
  }
  if (replay.nextPageToken) throw new ReplayError("incomplete", 0, 0, "it is one page of a longer record");
  const players = header.seats.length;
  if (players < 2 || players > 4 || header.seats.some((seat, at) => seat.seat !== at)) {
    throw new ReplayError("seats", 0, 0, "its seats are not numbered in order");
  }
  if (header.commitment.length !== 32) throw new ReplayError("commitment", 0, 0, "the commitment has not 32 bytes");
  if (header.entropies.length !== players || header.entropies.some((entropy) => entropy.length > 32)) {
    throw new ReplayError("entropy", 0, 0, "the entropies do not fit the seats");
  }
  if (promised && !sameBytes(promised.commitment, header.commitment)) {
    throw new ReplayError("commitment", 0, 0, "the commitment is not the one published before the match");
  }
  const own = promised?.entropy;
  if (own && !sameBytes(own.bytes, header.entropies[own.seat] ?? new Uint8Array())) {
    throw new ReplayError("entropy", 0, 0, `the entropy of seat ${own.seat} is not the one that it brought`);
  }
  return header;
}

function* replayed(dealt: Match, round: ReplayRound): Generator<Moment> {
  let match = dealt;
  for (const [index, { seat, action }] of round.actions.entries()) {
    const place = [round.roundNumber, index + 1] as const;
    if (action?.kind.case === undefined) throw new ReplayError("action", ...place, "it is no action");
    try {
      const next = play(match, seat, action);
      match = next.match;
      yield { roundNumber: place[0], actionNumber: place[1], match, seat, action, drawn: next.drawn };
    } catch (error) {
      if (!(error instanceof IllegalActionError)) throw error;
      throw new ReplayError("action", ...place, `the rules refuse it: ${error.reason}`);
    }
  }
}

function checkResult(round: ReplayRound, match: Match, header: ReplayHeader, last: boolean): void {
  const ended = match.phase === "roundOver" || match.phase === "matchOver";
  const abandoned = header.result?.reason === MatchEndReason.ABANDONED;
  if (!round.result && !ended && last && abandoned) return;
  if (!round.result || !ended || !match.lastRound || !sameResult(round.result, match.lastRound)) {
    throw new ReplayError("result", round.roundNumber, 0, "its result is not the one that its actions lead to");
  }
}

function sameResult(recorded: RoundResult, played: RoundOutcome): boolean {
  return (
    recorded.roundNumber === played.roundNumber &&
    recorded.reason === played.reason &&
    recorded.winnerSeat === played.winnerSeat &&
    recorded.points === played.points &&
    sameNumbers(recorded.handPoints, played.handPoints) &&
    sameNumbers(recorded.scores, played.scores)
  );
}

function checkEnd(header: ReplayHeader, match: Match): void {
  const { result } = header;
  if (!result) {
    if (match.winnerSeat !== undefined) throw new ReplayError("winner", 0, 0, "it was won, and no result is recorded");
    return;
  }
  if (!sameNumbers(result.scores, match.scores)) {
    throw new ReplayError("winner", 0, 0, "its scores are not those that its actions lead to");
  }
  const abandoned = result.reason === MatchEndReason.ABANDONED;
  if (result.winnerSeat !== match.winnerSeat || abandoned !== (match.winnerSeat === undefined)) {
    throw new ReplayError("winner", 0, 0, "its winner is not the one that its actions lead to");
  }
  if (abandoned || match.winnerSeat === undefined) return;
  const reached = (match.scores[match.winnerSeat] as number) >= match.options.targetScore;
  if (result.reason !== (reached ? MatchEndReason.TARGET_SCORE : MatchEndReason.TURN_LIMIT)) {
    throw new ReplayError("winner", 0, 0, "the reason of its end is not the one recorded");
  }
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
