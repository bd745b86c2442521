/** The first page: ways to a table. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type Room, RoomStatus, Visibility } from "../../client/index.ts";
import { usePage } from "../context.ts";
import type { TextKey } from "../i18n.ts";
import { PACES, type Pace, paceTerms } from "../pace.ts";
import { CardFace } from "../parts/Card.tsx";
import { levelName } from "../story.ts";
import { OwnTables, RoomLine, RoomLists, useRooms } from "./RoomLists.tsx";

const LEVELS = ["easy", "normal", "hard"];
/** Round results are worth a look: the next deal waits a little where people play. */
const ROUND_INTERVAL_SECONDS = 4n;
const CODE_LENGTH = 6;
const TYPING_MS = 400;

export function HomeView({ joinCode }: { joinCode: string }): JSX.Element {
  const { texts, session, complain, lead } = usePage();
  const [name, setName] = useState(session.name);
  const [busy, setBusy] = useState(false);
  const rooms = useRooms();

  /** Does something that ends at a table, as the player of the name field. */
  async function toTable(work: () => Promise<string | undefined>): Promise<void> {
    if (busy) return;
    setBusy(true);
    try {
      await lead(async () => {
        const roomId = await session.asPlayer(texts.t("guest"), work, name);
        return roomId && `/room/${roomId}`;
      });
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  }

  return (
    <div class="home">
      <section class="hero">
        <div>
          <h1>Rami</h1>
          <p class="tagline">{texts.t("tagline")}</p>
          <label class="field name">
            <span>{texts.t("yourName")}</span>
            <input
              type="text"
              maxLength={32}
              autocomplete="nickname"
              placeholder={texts.t("guest")}
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
        </div>
        <div class="fan" aria-hidden="true">
          {[36, 37, 38, 39].map((card) => (
            <span class="card" key={card}>
              <CardFace card={card} />
            </span>
          ))}
        </div>
      </section>
      <OwnTables rooms={rooms} />
      <div class="ways" aria-busy={busy}>
        <div class="stack">
          <QuickMatch toTable={toTable} />
          <JoinFriends toTable={toTable} joinCode={joinCode} />
        </div>
        <AgainstBots toTable={toTable} />
        <OwnTable toTable={toTable} />
      </div>
      <RoomLists rooms={rooms} toTable={toTable} />
    </div>
  );
}

interface WayProps {
  toTable(work: () => Promise<string | undefined>): Promise<void>;
}

function Way({ title, text, children }: { title: TextKey; text?: TextKey; children: ComponentChildren }): JSX.Element {
  const { texts } = usePage();
  const heading = useId();
  return (
    <section class="way" aria-labelledby={heading}>
      <h2 id={heading}>{texts.t(title)}</h2>
      {text && <p>{texts.t(text)}</p>}
      {children}
    </section>
  );
}

interface PickProps<Value extends string | number> {
  legend: string;
  values: readonly Value[];
  value: Value;
  label(value: Value): string;
  onPick(value: Value): void;
}

/** A few choices side by side; radio buttons for keyboards and screen readers. */
function Pick<Value extends string | number>({ legend, values, value, label, onPick }: PickProps<Value>): JSX.Element {
  const name = useId();
  return (
    <fieldset class="pick">
      <legend>{legend}</legend>
      <div>
        {values.map((each) => (
          <label key={each}>
            <input type="radio" name={name} checked={each === value} onChange={() => onPick(each)} />
            <span>{label(each)}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function QuickMatch({ toTable }: WayProps): JSX.Element {
  const { texts, session, announce } = usePage();
  const [seats, setSeats] = useState(3);
  const [pace, setPace] = useState(session.pace);
  const { turnSeconds, criteria } = paceTerms(pace);
  const [since, setSince] = useState<number>();
  const [, tick] = useState(0);
  const stop = useRef<() => void>();
  useEffect(() => {
    if (since === undefined) return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [since]);
  useEffect(() => () => stop.current?.(), []);

  async function queue(): Promise<string | undefined> {
    const cancelled = new AbortController();
    stop.current = () => cancelled.abort();
    try {
      const { ticketId } = await session.rami.joinQueue({ playerCounts: [seats], botsAllowed: true, ...criteria });
      const leave = () => {
        session.rami.leaveQueue(ticketId).catch(() => {
          // Matched at the same moment: the seat is then held by autopilot, which the table says.
        });
      };
      cancelled.signal.addEventListener("abort", leave);
      if (cancelled.signal.aborted) {
        leave(); // whoever asked has gone elsewhere meanwhile
        return undefined;
      }
      setSince(Date.now());
      announce(texts.t("queueWaiting"));
      return (await session.rami.waitForMatch(ticketId, cancelled.signal))?.roomId;
    } finally {
      stop.current = undefined;
      setSince(undefined);
    }
  }

  return (
    <Way title="quickTitle" text="quickText">
      <Pick<number> legend={texts.t("seats")} values={[2, 3, 4]} value={seats} label={String} onPick={setSeats} />
      <Pick<Pace>
        legend={texts.t("pace")}
        values={PACES}
        value={pace}
        label={(each) => texts.t(paceTerms(each).name)}
        onPick={(chosen) => {
          session.pace = chosen;
          setPace(chosen);
        }}
      />
      <p class="terms">
        {texts.t("optTurnTime")}: {turnSeconds ? texts.seconds(turnSeconds) : texts.t("optNoLimit")}
      </p>
      {since === undefined ? (
        <button type="button" class="primary" onClick={() => toTable(queue)}>
          {texts.t("quickStart")}
        </button>
      ) : (
        <div class="waiting">
          <span class="spinner" aria-hidden="true" />
          <span>{texts.n("queueSeconds", Math.floor((Date.now() - since) / 1000))}</span>
          <button type="button" onClick={() => stop.current?.()}>
            {texts.t("queueCancel")}
          </button>
        </div>
      )}
    </Way>
  );
}

function AgainstBots({ toTable }: WayProps): JSX.Element {
  const { texts, session } = usePage();
  const [opponents, setOpponents] = useState(2);
  const [level, setLevel] = useState("normal");
  const [target, setTarget] = useState(100);

  async function deal(): Promise<string> {
    const bots = Object.fromEntries(Array.from({ length: opponents }, (_, at) => [at + 1, level]));
    const options = {
      seats: opponents + 1,
      rules: { targetScore: target },
      turnTimeLimit: { seconds: 0n },
      roundInterval: { seconds: ROUND_INTERVAL_SECONDS },
      spectatorsAllowed: true,
      autoStart: true,
    };
    return (await session.rami.createRoom(options, { bots })).roomId;
  }

  return (
    <Way title="botsTitle" text="botsText">
      <Pick<number>
        legend={texts.t("opponents")}
        values={[1, 2, 3]}
        value={opponents}
        label={String}
        onPick={setOpponents}
      />
      <Pick<string>
        legend={texts.t("level")}
        values={LEVELS}
        value={level}
        label={(bot) => levelName(texts, bot)}
        onPick={setLevel}
      />
      <Pick<number>
        legend={texts.t("optTarget")}
        values={[25, 100, 200]}
        value={target}
        label={String}
        onPick={setTarget}
      />
      <button type="button" class="primary" onClick={() => toTable(deal)}>
        {texts.t("botsStart")}
      </button>
    </Way>
  );
}

function JoinFriends({ toTable, joinCode }: WayProps & { joinCode: string }): JSX.Element {
  const { texts, session } = usePage();
  const [code, setCode] = useState(joinCode);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setCode(joinCode);
    if (joinCode) field.current?.focus();
  }, [joinCode]);
  const wanted = code.trim();
  const found = useFound(wanted);
  const begun = found !== undefined && found.status !== RoomStatus.LOBBY;
  async function join(): Promise<string | undefined> {
    if (begun) return found.roomId;
    return (await session.rami.joinRoom({ joinCode: wanted })).room?.roomId;
  }
  return (
    <Way title="joinTitle">
      <form
        class="join"
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted) void toTable(join);
        }}
      >
        <label class="field">
          <span>{texts.t("joinLabel")}</span>
          <input
            ref={field}
            class="code"
            type="text"
            autocomplete="off"
            autocapitalize="characters"
            spellcheck={false}
            value={code}
            onInput={(event) => setCode(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          {texts.t(begun ? "watch" : "join")}
        </button>
      </form>
      <p class="found" role="status" data-testid="found">
        {found && <RoomLine room={found} />}
      </p>
    </Way>
  );
}

/** The room of a join code, looked up once no more is typed; wrong codes are complained about when they are used. */
function useFound(joinCode: string): Room | undefined {
  const { texts, session } = usePage();
  const [found, setFound] = useState<Room>();
  useEffect(() => {
    setFound(undefined);
    if (joinCode.length < CODE_LENGTH) return;
    let gone = false;
    const look = setTimeout(async () => {
      try {
        const room = await session.asPlayer(texts.t("guest"), () => session.rami.getRoom({ joinCode }));
        if (!gone) setFound(room);
      } catch {
        // Nothing to show: the button says why.
      }
    }, TYPING_MS);
    return () => {
      gone = true;
      clearTimeout(look);
    };
  }, [joinCode, session, texts]);
  return found;
}

function OwnTable({ toTable }: WayProps): JSX.Element {
  const { texts, session } = usePage();
  const [seats, setSeats] = useState(3);
  const [target, setTarget] = useState(100);
  const [turnTime, setTurnTime] = useState(60);
  const [flags, setFlags] = useState({ aceHigh: false, discardToWin: false, open: false, spectators: true });

  async function create(): Promise<string> {
    const room = await session.rami.createRoom({
      seats,
      rules: { targetScore: target, aceHigh: flags.aceHigh, discardToWin: flags.discardToWin },
      visibility: flags.open ? Visibility.PUBLIC : Visibility.PRIVATE,
      spectatorsAllowed: flags.spectators,
      turnTimeLimit: { seconds: BigInt(turnTime) },
      roundInterval: { seconds: ROUND_INTERVAL_SECONDS },
    });
    return room.roomId;
  }
  const boxes = [
    ["open", "optPublic"],
    ["spectators", "optSpectators"],
    ["aceHigh", "optAceHigh"],
    ["discardToWin", "optDiscardToWin"],
  ] as const;

  return (
    <Way title="ownTitle" text="ownText">
      <Pick<number> legend={texts.t("seats")} values={[2, 3, 4]} value={seats} label={String} onPick={setSeats} />
      <Pick<number>
        legend={texts.t("optTarget")}
        values={[50, 100, 200]}
        value={target}
        label={String}
        onPick={setTarget}
      />
      <Pick<number>
        legend={texts.t("optTurnTime")}
        values={[30, 60, 0]}
        value={turnTime}
        label={(seconds) => (seconds ? texts.seconds(seconds) : texts.t("optNoLimit"))}
        onPick={setTurnTime}
      />
      <div class="boxes">
        {boxes.map(([flag, key]) => (
          <label key={flag}>
            <input
              type="checkbox"
              checked={flags[flag]}
              onChange={(event) => setFlags({ ...flags, [flag]: event.currentTarget.checked })}
            />
            <span>{texts.t(key)}</span>
          </label>
        ))}
      </div>
      <button type="button" class="primary" onClick={() => toTable(create)}>
        {texts.t("ownStart")}
      </button>
    </Way>
  );
}
