/** A match that was played, checked in this browser and shown step by step with every card face up. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  type GetReplayResponse,
  type Moment,
  ReplayError,
  RoundEndReason,
  type VerifiedReplay,
  verifyReplay,
} from "../../client/index.ts";
import { usePage } from "../context.ts";
import { Felt } from "../parts/Felt.tsx";
import { FairnessReport } from "../parts/Result.tsx";
import { Seats } from "../parts/Seats.tsx";
import { explain } from "../problems.ts";
import { replayScene } from "../scene.ts";
import { seatNames, tellAction } from "../story.ts";

const STEP_MS = 1100;

interface Loaded {
  replay: GetReplayResponse;
  verified: VerifiedReplay | ReplayError;
  moments: Moment[];
}

export function ReplayView({ roomId }: { roomId: string }): JSX.Element {
  const { texts, session } = usePage();
  const [loaded, setLoaded] = useState<Loaded>();
  const [error, setError] = useState<unknown>();
  const guest = useRef(texts.t("guest"));

  const canCheck = Boolean(globalThis.crypto?.subtle);
  useEffect(() => {
    if (!canCheck) return;
    let gone = false;
    async function load(): Promise<void> {
      const replay = await session.asPlayer(guest.current, () => session.rami.replay(roomId));
      const verified = await verifyReplay(replay, session.promised(roomId)).catch((thrown) => {
        if (thrown instanceof ReplayError) return thrown;
        throw thrown;
      });
      const moments = verified instanceof ReplayError ? [] : verified.moments;
      if (!gone) setLoaded({ replay, verified, moments });
    }
    load().catch((thrown) => {
      if (!gone) setError(thrown);
    });
    return () => {
      gone = true;
    };
  }, [roomId, session, canCheck]);

  if (error || !canCheck) {
    return (
      <section class="panel alone">
        <h1>{canCheck ? explain(texts, error) : texts.t("fairCrypto")}</h1>
        <a class="button" href="#/">
          {texts.t("toStart")}
        </a>
      </section>
    );
  }
  if (!loaded) {
    return (
      <p class="alone loading" role="status">
        <span class="spinner" aria-hidden="true" /> {texts.t("loading")}
      </p>
    );
  }
  return (
    <div class="replay" data-testid="replay">
      <h1>{texts.t("replayTitle")}</h1>
      {loaded.moments.length > 0 && <Steps loaded={loaded} />}
      <FairnessReport
        commitment={loaded.replay.header?.commitment}
        verified={loaded.verified}
        promised={session.promised(roomId)}
      />
    </div>
  );
}

function Sign({ path }: { path: string }): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
      <path d={path} fill="currentColor" stroke="currentColor" stroke-width="2" stroke-linejoin="round" />
    </svg>
  );
}

function Steps({ loaded: { replay, moments } }: { loaded: Loaded }): JSX.Element | null {
  const { texts, announce } = usePage();
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const last = moments.length - 1;
  const moment = moments[at];
  const seats = replay.header?.seats ?? [];
  const names = seatNames(texts, seats);

  useEffect(() => {
    if (!playing) return;
    if (at >= last) return setPlaying(false);
    const timer = setTimeout(() => setAt(at + 1), STEP_MS);
    return () => clearTimeout(timer);
  }, [playing, at, last]);

  const text = moment ? said(moment) : "";
  useEffect(() => announce(text), [text, announce]);
  if (!moment) return null;

  function said({ action, seat, drawn, match }: Moment): string {
    if (!action || seat === undefined) return texts.t("replayDeal");
    const ended = match.phase === "roundOver" || match.phase === "matchOver";
    const empty = ended && match.lastRound?.reason === RoundEndReason.STOCK_EXHAUSTED;
    const line = tellAction(texts, names[seat] ?? "", action, drawn, empty);
    if (!ended || !match.lastRound) return line;
    const { winnerSeat, points } = match.lastRound;
    return `${line}. ${texts.n("didWinRound", points, { name: names[winnerSeat] ?? "" })}`;
  }
  const step = (to: number) => {
    setPlaying(false);
    setAt(Math.max(0, Math.min(last, to)));
  };
  const buttons = [
    ["replayFirst", "M6 5v14M19 5 9 12l10 7z", 0],
    ["replayBack", "M17 5 7 12l10 7z", at - 1],
    ["replayNext", "M7 5l10 7-10 7z", at + 1],
    ["replayLast", "M18 5v14M5 5l10 7-10 7z", last],
  ] as const;

  return (
    <section class="table replaying">
      <div class="board">
        <div class="status-line">
          <p class="turn" data-testid="step-text">
            {text}
          </p>
          <p class="terms">
            {texts.t("round", { n: moment.roundNumber })} · {texts.t("replayStep", { n: at + 1, total: last + 1 })}
          </p>
        </div>
        <div class="stepper">
          {buttons.slice(0, 2).map(([key, sign, to]) => (
            <button key={key} type="button" aria-label={texts.t(key)} title={texts.t(key)} onClick={() => step(to)}>
              <Sign path={sign} />
            </button>
          ))}
          <button type="button" class="primary" onClick={() => (at >= last ? step(0) : setPlaying(!playing))}>
            {texts.t(playing ? "replayPause" : "replayPlay")}
          </button>
          {buttons.slice(2).map(([key, sign, to]) => (
            <button key={key} type="button" aria-label={texts.t(key)} title={texts.t(key)} onClick={() => step(to)}>
              <Sign path={sign} />
            </button>
          ))}
          <input
            type="range"
            min={0}
            max={last}
            value={at}
            aria-label={texts.t("replayStep", { n: at + 1, total: last + 1 })}
            onInput={(event) => step(Number(event.currentTarget.value))}
          />
        </div>
        <Seats scene={replayScene(texts, { seats }, moment.match)} />
        <Felt scene={replayScene(texts, { seats }, moment.match)} />
      </div>
    </section>
  );
}
