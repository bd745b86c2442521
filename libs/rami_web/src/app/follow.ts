/** A room in a component: the table that follows it, what it said so far, and which update came last. */
import { useEffect, useRef, useState } from "preact/hooks";
import { RoomStatus, type TableState, UnauthenticatedError, type WatchTable } from "../client/index.ts";
import type { RoundEnded } from "../gen/rami/game/v1/event_pb.ts";
import { RoundEndReason } from "../gen/rami/game/v1/rules_pb.ts";
import { usePage } from "./context.ts";
import { seatNames, tellChange } from "./story.ts";

const LOG_LIMIT = 300;

export interface LogEntry {
  id: number;
  text: string;
  /** Begins a round. */
  heading: boolean;
}

export interface Following {
  table: WatchTable | undefined;
  state: TableState | undefined;
  log: LogEntry[];
  /** How the last round ended, until it is put away. */
  roundEnd: RoundEnded | undefined;
  putAway(): void;
  /** What stopped it from the start. */
  error: unknown;
  again(): void;
}

export function useRoom(roomId: string): Following {
  const page = usePage();
  const latest = useRef(page);
  latest.current = page;
  const [attempt, setAttempt] = useState(0);
  const [table, setTable] = useState<WatchTable>();
  const [error, setError] = useState<unknown>();
  const [log, setLog] = useState<LogEntry[]>([]);
  const [roundEnd, setRoundEnd] = useState<RoundEnded>();
  const [, redraw] = useState(0);
  const count = useRef(0);

  useEffect(() => {
    const { session } = latest.current;
    let opened: WatchTable | undefined;
    let gone = false;
    let names: string[] = [];
    setError(undefined);
    setTable(undefined);

    const hear = (follow: WatchTable) =>
      follow.listen({
        update({ state, changes, snapshot, rewound }) {
          const { texts, announce } = latest.current;
          const stockEmpty = changes.some(
            ({ kind }) => kind.case === "roundEnded" && kind.value.result?.reason === RoundEndReason.STOCK_EXHAUSTED,
          );
          const entries = changes.flatMap((change) =>
            tellChange(texts, state.room, names, change, stockEmpty).map((text) => ({
              id: count.current++,
              text,
              heading: change.kind.case === "roundStarted",
            })),
          );
          if (rewound) entries.push({ id: count.current++, text: texts.t("didRewind"), heading: false });
          if (snapshot && state.roundEnded) setRoundEnd(state.roundEnded); // who comes later sees the hands too
          names = seatNames(texts, state.room.seats);
          for (const { kind } of changes) {
            if (kind.case === "roundEnded") setRoundEnd(kind.value);
            if (kind.case === "roomClosed") setRoundEnd(undefined);
          }
          if (entries.length > 0) {
            setLog((before) => [...before, ...entries].slice(-LOG_LIMIT));
            announce(entries.map(({ text }) => text).join(". "));
          }
        },
        changed() {
          redraw((n) => n + 1);
          if (follow.promised) session.keepPromise(roomId, follow.promised);
          const { state } = follow;
          if (state?.seat !== undefined && state.room.status === RoomStatus.OVER) {
            const kept = session.recent.find((entry) => entry.roomId === roomId);
            if (!kept) session.addRecent({ roomId, at: Date.now(), names });
          }
          if (follow.connection === "ended" && session.forget(follow.error)) setAttempt((n) => n + 1);
        },
      });

    session
      .signIn("", latest.current.texts.t("guest"))
      .then(() => {
        if (gone) return;
        opened = session.rami.table(roomId);
        hear(opened);
        setTable(opened);
      })
      .catch((thrown) => {
        if (!gone) setError(thrown);
      });
    const wake = () => {
      if (document.visibilityState === "visible") opened?.retryNow();
    };
    addEventListener("online", wake);
    document.addEventListener("visibilitychange", wake);
    return () => {
      gone = true;
      removeEventListener("online", wake);
      document.removeEventListener("visibilitychange", wake);
      void opened?.close();
    };
  }, [roomId, attempt]);

  const ended = table?.connection === "ended" ? table.error : undefined;
  return {
    table,
    state: table?.state,
    log,
    roundEnd,
    putAway: () => setRoundEnd(undefined),
    error: error ?? (ended instanceof UnauthenticatedError ? undefined : ended),
    again: () => setAttempt((n) => n + 1),
  };
}
