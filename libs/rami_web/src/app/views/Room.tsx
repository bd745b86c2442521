/** A room from the lobby to the final standings, whoever looks at it. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { RoomStatus } from "../../client/index.ts";
import { usePage } from "../context.ts";
import { useRoom } from "../follow.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { FairnessCheck, Standings } from "../parts/Result.tsx";
import { explain } from "../problems.ts";
import { liveScene } from "../scene.ts";
import { LiveTable } from "./LiveTable.tsx";
import { Lobby } from "./Lobby.tsx";

export function RoomView({ roomId }: { roomId: string }): JSX.Element {
  const { texts, session, complain, lead, ruleOptions } = usePage();
  const following = useRoom(roomId);
  const { table, state } = following;
  const [leaving, setLeaving] = useState(false);
  const end = useRef<HTMLElement>(null);
  const status = state?.room.status;

  useEffect(() => {
    if (status === RoomStatus.OVER) end.current?.querySelector("h1")?.focus();
  }, [status]);

  const options = state?.room.options?.rules;
  useEffect(() => {
    ruleOptions.current = options;
    return () => {
      ruleOptions.current = undefined;
    };
  }, [options, ruleOptions]);

  function leave(): Promise<void> {
    return lead(async () => {
      if (state?.seat !== undefined || state?.room.hostPlayerId === session.playerId) {
        await session.rami.leaveRoom(roomId).catch(() => {
          // Gone already, or over: there is nothing to leave.
        });
      }
      return "/";
    });
  }
  async function rematch(): Promise<void> {
    try {
      await lead(async () => {
        const { room } = await session.rami.rematch(roomId);
        return room && `/room/${room.roomId}`;
      });
    } catch (error) {
      complain(error);
    }
  }

  if (following.error || status === RoomStatus.CLOSED) {
    return (
      <section class="panel alone">
        <h1>{status === RoomStatus.CLOSED ? texts.t("didClose") : explain(texts, following.error)}</h1>
        <div class="row">
          {following.error !== undefined && (
            <button type="button" class="primary" onClick={following.again}>
              {texts.t("retry")}
            </button>
          )}
          <a class="button" href="#/">
            {texts.t("toStart")}
          </a>
        </div>
      </section>
    );
  }
  if (!table || !state) {
    return (
      <p class="alone loading" role="status">
        <span class="spinner" aria-hidden="true" /> {texts.t("loading")}
      </p>
    );
  }

  const scene = liveScene(texts, state);
  return (
    <div class="room">
      {table.connection === "broken" && (
        <p class="banner warn" role="status" data-testid="reconnecting">
          <span class="spinner" aria-hidden="true" /> {texts.t("reconnecting")}
        </p>
      )}
      {status === RoomStatus.LOBBY && <Lobby state={state} scene={scene} onLeave={leave} />}
      {status === RoomStatus.OVER && (
        <section class="panel end" ref={end} data-testid="end">
          <Standings scene={scene} reason={state.room.result?.reason} />
          <div class="row">
            {state.seat !== undefined && (
              <button type="button" class="primary" onClick={rematch}>
                {texts.t(state.room.rematchRoomId ? "rematchJoin" : "rematch")}
              </button>
            )}
            <a class="button" href={`#/replay/${roomId}`}>
              {texts.t("replay")}
            </a>
            <a class="button" href="#/">
              {texts.t("toStart")}
            </a>
          </div>
          <FairnessCheck roomId={roomId} promised={table.promised ?? session.promised(roomId)} />
        </section>
      )}
      {(status === RoomStatus.IN_MATCH || status === RoomStatus.OVER) && (
        <LiveTable following={following} scene={scene} onLeave={() => setLeaving(true)} />
      )}
      {leaving && (
        <Dialog title={texts.t("leave")} onClose={() => setLeaving(false)}>
          <p>{state.seat === undefined ? texts.t("watching") : texts.t("leaveConfirm")}</p>
          <div class="row">
            <button type="button" class="primary" onClick={leave}>
              {texts.t("leave")}
            </button>
            <button type="button" onClick={() => setLeaving(false)}>
              {texts.t("stay")}
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}
