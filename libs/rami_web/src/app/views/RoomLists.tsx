/** The own rooms, public ones to sit down in or to watch, and the latest matches of this browser. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Room, RoomStatus } from "../../client/index.ts";
import { usePage } from "../context.ts";
import { seatNames } from "../story.ts";

const LIST_EVERY_MS = 10_000;
const LISTED = 20;

export interface Rooms {
  own: Room[];
  open: Room[];
  live: Room[];
}

interface Props {
  /** Undefined until they have been read, and while they cannot be. */
  rooms: Rooms | undefined;
  /** Does something that ends at a table. */
  toTable(work: () => Promise<string | undefined>): Promise<void>;
}

/** Who sits in a room, and what is played there. */
export function RoomLine({ room }: { room: Room }): JSX.Element {
  const { texts } = usePage();
  return (
    <span class="room-text">
      <strong>
        {seatNames(texts, room.seats)
          .filter((_, at) => room.seats[at]?.holder.case)
          .join(", ")}
      </strong>
      <span>
        {free(room) > 0 && `${texts.n("freeSeats", free(room))} · `}
        {texts.n("playTo", room.options?.rules?.targetScore ?? 100)}
      </span>
    </span>
  );
}

function free(room: Room): number {
  return room.seats.filter(({ holder }) => !holder.case).length;
}

/** The rooms that are worth a line on the first page, read again and again. */
export function useRooms(): Rooms | undefined {
  const { texts, session } = usePage();
  const [rooms, setRooms] = useState<Rooms>();
  useEffect(() => {
    let gone = false;
    const look = async () => {
      if (document.hidden) return;
      try {
        const [all, lobbies, matches] = await session.asPlayer(texts.t("guest"), () =>
          Promise.all([
            session.rami.listOwnRooms(),
            session.rami.listRooms(RoomStatus.LOBBY, LISTED, { freeSeat: true }),
            session.rami.listRooms(RoomStatus.IN_MATCH, LISTED, { watchable: true }),
          ]),
        );
        const own = all.filter(({ status }) => status === RoomStatus.LOBBY || status === RoomStatus.IN_MATCH);
        const others = (room: Room) => own.every(({ roomId }) => roomId !== room.roomId);
        if (!gone) setRooms({ own, open: lobbies.filter(others), live: matches.filter(others) });
      } catch {
        if (!gone) setRooms(undefined); // the buttons say what is wrong when they are used
      }
    };
    void look();
    const timer = setInterval(look, LIST_EVERY_MS);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [session, texts]);
  return rooms;
}

/** The tables that the player may go back to; nothing where there are none. */
export function OwnTables({ rooms }: { rooms: Rooms | undefined }): JSX.Element | null {
  const { texts } = usePage();
  if (!rooms?.own.length) return null;
  return (
    <div class="lists">
      <section>
        <h2>{texts.t("ownTables")}</h2>
        <ul>
          {rooms.own.map((room) => (
            <li key={room.roomId}>
              <RoomLine room={room} />
              <a class="button" href={`#/room/${room.roomId}`}>
                {texts.t("toTable")}
              </a>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

export function RoomLists({ rooms, toTable }: Props): JSX.Element {
  const { texts, session } = usePage();
  return (
    <div class="lists">
      <section>
        <h2>{texts.t("openTables")}</h2>
        {!rooms?.open.length && <p class="none">{texts.t("openNone")}</p>}
        <ul>
          {rooms?.open.map((room) => (
            <li key={room.roomId}>
              <RoomLine room={room} />
              <button
                type="button"
                onClick={() => toTable(async () => (await session.rami.joinRoom({ roomId: room.roomId })).room?.roomId)}
              >
                {texts.t("sit")}
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>{texts.t("liveTables")}</h2>
        {!rooms?.live.length && <p class="none">{texts.t("liveNone")}</p>}
        <ul>
          {rooms?.live.map((room) => (
            <li key={room.roomId}>
              <RoomLine room={room} />
              <a class="button" href={`#/room/${room.roomId}`}>
                {texts.t("watch")}
              </a>
            </li>
          ))}
        </ul>
      </section>
      {session.recent.length > 0 && (
        <section>
          <h2>{texts.t("recentTitle")}</h2>
          <ul>
            {session.recent.slice(0, 5).map(({ roomId, at, names }) => (
              <li key={roomId}>
                <span class="room-text">
                  <strong>{names.join(", ")}</strong>
                  <span>{texts.time(at)}</span>
                </span>
                <a class="button" href={`#/replay/${roomId}`}>
                  {texts.t("replay")}
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
