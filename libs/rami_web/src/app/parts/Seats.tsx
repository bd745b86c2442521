/** Who sits at the table: names, scores, how many cards they hold, whose turn it is and for how long. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Turn } from "../../client/index.ts";
import { usePage } from "../context.ts";
import type { Scene, SceneSeat } from "../scene.ts";
import { CardBack, CardRow } from "./Card.tsx";

export interface Clock {
  turn: Turn | undefined;
  limitSeconds: number;
  offsetMs: number;
}

/** The seats but the player's own, which has its hand in front. */
export function Seats({ scene, clock }: { scene: Scene; clock?: Clock | undefined }): JSX.Element {
  const own = scene.seats.findIndex(({ you }) => you);
  // Play goes round to the left: whoever comes after the player stands first.
  const ordered = own < 0 ? scene.seats : [...scene.seats.slice(own + 1), ...scene.seats.slice(0, own)];
  return (
    <ul class={`seats seats-${ordered.length}`}>
      {ordered.map((seat) => (
        <li key={seat.seat}>
          <SeatPlate seat={seat} clock={seat.toMove ? clock : undefined} />
        </li>
      ))}
    </ul>
  );
}

export function SeatPlate({ seat, clock }: { seat: SceneSeat; clock?: Clock | undefined }): JSX.Element {
  const { texts } = usePage();
  const marks = [seat.you && texts.t("you"), seat.standIn && texts.t("autopilot")].filter(Boolean);
  return (
    <div class={`seat${seat.toMove ? " to-move" : ""}${seat.winner ? " winner" : ""}`}>
      <span class={`face-${seat.kind} avatar avatar-${seat.seat}`} aria-hidden="true">
        {seat.kind === "bot" ? <BotMark /> : seat.name.slice(0, 1).toUpperCase()}
      </span>
      <span class="who">
        <strong>{seat.name}</strong>
        {marks.length > 0 && <span class="mark"> ({marks.join(", ")})</span>}
        <span class="figures">
          <span class="score">{texts.n("points", seat.score)}</span>
          {!seat.hand && !seat.you && (
            <span class="held" role="img" aria-label={texts.n("cards", seat.handSize)}>
              {Array.from({ length: Math.min(seat.handSize, 11) }, (_, at) => (
                <span class="card tiny" key={at}>
                  <CardBack />
                </span>
              ))}
              <span class="count">{seat.handSize}</span>
            </span>
          )}
        </span>
      </span>
      {clock?.turn?.deadline && <TurnClock clock={clock} you={seat.you} />}
      {seat.hand && <CardRow cards={seat.hand} small />}
    </div>
  );
}

const WARN_SECONDS = 10;

/** Runs down to the deadline, which is in the store's time; says the last seconds of the own turn once. */
export function TurnClock({ clock, you }: { clock: Clock; you: boolean }): JSX.Element | null {
  const { texts, announce } = usePage();
  const [, tick] = useState(0);
  const warned = useRef<bigint>();
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 500);
    return () => clearInterval(timer);
  }, []);
  const deadline = clock.turn?.deadline;
  const left = deadline
    ? Math.max(
        0,
        Math.ceil((Number(deadline.seconds) * 1000 + deadline.nanos / 1e6 - Date.now() - clock.offsetMs) / 1000),
      )
    : 0;
  useEffect(() => {
    if (you && deadline && left <= WARN_SECONDS && left > 0 && warned.current !== deadline.seconds) {
      warned.current = deadline.seconds;
      announce(texts.n("secondsLeft", left));
    }
  }, [you, deadline, left, announce, texts]);
  if (!deadline) return null;
  const share = Math.min(1, left / Math.max(1, clock.limitSeconds));
  return (
    <span class={`clock${left <= WARN_SECONDS ? " hurry" : ""}`} role="timer" aria-label={texts.n("secondsLeft", left)}>
      <svg viewBox="0 0 36 36" aria-hidden="true">
        <circle class="rail" cx="18" cy="18" r="15" />
        <circle class="rest" cx="18" cy="18" r="15" pathLength="100" stroke-dasharray={`${share * 100} 100`} />
      </svg>
      <span aria-hidden="true">{left}</span>
    </span>
  );
}

function BotMark(): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <path
        d="M12 3v3M6 8.5h12a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2v-6a2 2 0 0 1 2-2z"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        stroke-linecap="round"
      />
      <circle cx="9" cy="13" r="1.5" fill="currentColor" />
      <circle cx="15" cy="13" r="1.5" fill="currentColor" />
      <circle cx="12" cy="3" r="1.5" fill="currentColor" />
    </svg>
  );
}
