/** How a round or the match ended, and the check of the shuffle. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import {
  type GetReplayResponse,
  MatchEndReason,
  type Promised,
  ReplayError,
  type ReplayFault,
  toHex,
  type VerifiedReplay,
  verifyReplay,
} from "../../client/index.ts";
import type { RoundEnded } from "../../gen/rami/game/v1/event_pb.ts";
import { usePage } from "../context.ts";
import type { TextKey } from "../i18n.ts";
import type { Scene } from "../scene.ts";
import { CardRow } from "./Card.tsx";

/** The round that has just ended, with what everybody still held. */
export function RoundSummary({
  ended,
  scene,
  onClose,
}: {
  ended: RoundEnded;
  scene: Scene;
  onClose(): void;
}): JSX.Element {
  const { texts } = usePage();
  const { result } = ended;
  const winner = scene.seats[result?.winnerSeat ?? 0];
  return (
    <section class="summary" aria-label={texts.t("round", { n: result?.roundNumber ?? 0 })}>
      <div class="summary-head">
        <h2>
          {texts.t("round", { n: result?.roundNumber ?? 0 })}
          {" · "}
          {texts.n("didWinRound", result?.points ?? 0, { name: winner?.name ?? "" })}
        </h2>
        <button type="button" class="quiet" onClick={onClose}>
          {texts.t("close")}
        </button>
      </div>
      <ul>
        {ended.hands.map(({ seat, cards }) => (
          <li key={seat} class={seat === result?.winnerSeat ? "won" : ""}>
            <strong>{scene.seats[seat]?.name}</strong>
            <span>{texts.n("points", result?.handPoints[seat] ?? 0)}</span>
            {cards.length > 0 && <CardRow cards={cards} small />}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The end of a match: who won, and in which order everybody finished. */
export function Standings({ scene, reason }: { scene: Scene; reason: MatchEndReason | undefined }): JSX.Element {
  const { texts } = usePage();
  const ranked = [...scene.seats].sort((a, b) => Number(b.winner) - Number(a.winner) || b.score - a.score);
  const winner = scene.seats.find((seat) => seat.winner);
  const title =
    reason === MatchEndReason.ABANDONED || !winner
      ? texts.t("didAbandon")
      : winner.you
        ? texts.t("overYou")
        : texts.t("didWinMatch", { name: winner.name });
  return (
    <div class="standings">
      <p class="over">{texts.t("overTitle")}</p>
      <h1 tabIndex={-1}>{title}</h1>
      <table>
        <caption>{texts.t("standings")}</caption>
        <thead>
          <tr>
            <th scope="col">{texts.t("place")}</th>
            <th scope="col">{texts.t("player")}</th>
            <th scope="col">{texts.t("score")}</th>
          </tr>
        </thead>
        <tbody>
          {ranked.map((seat) => (
            <tr key={seat.seat} class={seat.winner ? "won" : ""}>
              <td>{1 + ranked.filter((other) => other.score > seat.score).length}</td>
              <th scope="row">
                {seat.name}
                {seat.you && ` (${texts.t("you")})`}
              </th>
              <td>{texts.number(seat.score)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const FAULTS: Record<ReplayFault, TextKey> = {
  rules: "faultRules",
  incomplete: "faultRecord",
  seats: "faultRecord",
  order: "faultRecord",
  commitment: "faultCommitment",
  entropy: "faultEntropy",
  seed: "faultSeed",
  action: "faultAction",
  result: "faultResult",
  winner: "faultResult",
};

/** Loads the record and checks all of it in this browser. */
export function FairnessCheck({ roomId, promised }: { roomId: string; promised: Promised | undefined }): JSX.Element {
  const { texts, session, announce, complain } = usePage();
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<{ replay: GetReplayResponse; verified: VerifiedReplay | ReplayError }>();

  async function check(): Promise<void> {
    setBusy(true);
    try {
      const replay = await session.asPlayer(texts.t("guest"), () => session.rami.replay(roomId));
      const verified = await verifyReplay(replay, promised).catch((error) => {
        if (error instanceof ReplayError) return error;
        throw error;
      });
      setFound({ replay, verified });
      announce(texts.t(verified instanceof ReplayError ? "fairBad" : "fairOk"));
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  }

  if (!globalThis.crypto?.subtle) return <p class="none">{texts.t("fairCrypto")}</p>;
  if (!found) {
    return (
      <button type="button" onClick={check} aria-busy={busy}>
        {texts.t("fairness")}
      </button>
    );
  }
  return <FairnessReport commitment={found.replay.header?.commitment} verified={found.verified} promised={promised} />;
}

interface ReportProps {
  commitment: Uint8Array | undefined;
  verified: VerifiedReplay | ReplayError;
  promised: Promised | undefined;
}

export function FairnessReport({ commitment, verified, promised }: ReportProps): JSX.Element {
  const { texts } = usePage();
  const bad = verified instanceof ReplayError;
  const lines = bad
    ? []
    : [
        texts.t(verified.promiseKept ? "fairSeen" : "fairUnseen"),
        ...(promised?.entropy ? [texts.t("fairEntropy")] : []),
        texts.n("fairSeeds", verified.rounds),
        texts.n("fairDecks", verified.rounds),
        texts.n("fairMoves", verified.actions),
        ...(verified.uncheckedRound === undefined
          ? [texts.t("fairScores")]
          : [texts.t("fairOpen", { n: verified.uncheckedRound })]),
      ];
  return (
    <section class={`fair ${bad ? "bad" : "good"}`} aria-labelledby="fair-title" data-testid="fair">
      <h2 id="fair-title">{texts.t("fairTitle")}</h2>
      <p>{texts.t("fairIntro")}</p>
      {commitment && <Fingerprint bytes={commitment} />}
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <p class="verdict">
        {texts.t(bad ? "fairBad" : "fairOk")}
        {bad &&
          ` ${texts.t("fairPlace", { round: verified.roundNumber, step: verified.actionNumber })}: ${texts.t(FAULTS[verified.fault])}.`}
      </p>
    </section>
  );
}

/** 32 bytes in groups, for people to compare. */
export function Fingerprint({ bytes }: { bytes: Uint8Array }): JSX.Element {
  const groups = toHex(bytes).match(/.{1,8}/g) ?? [];
  return (
    <code class="fingerprint">
      {groups.map((group, at) => (
        <span key={at}>{group}</span>
      ))}
    </code>
  );
}
