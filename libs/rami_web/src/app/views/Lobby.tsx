/** A room before its match: seats, bots, the code for friends, and the promise about the shuffle. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { TableState } from "../../client/index.ts";
import { usePage } from "../context.ts";
import { Fingerprint } from "../parts/Result.tsx";
import type { Scene } from "../scene.ts";
import { levelName } from "../story.ts";

interface Props {
  state: TableState;
  scene: Scene;
  onLeave(): void;
}

export function Lobby({ state, scene, onLeave }: Props): JSX.Element {
  const { texts, session, complain } = usePage();
  const { room, seat: own } = state;
  const [bots, setBots] = useState<string[]>([]);
  const [level, setLevel] = useState("normal");
  const [copied, setCopied] = useState(false);
  const host = room.hostPlayerId === session.playerId;
  const free = scene.seats.filter(({ kind }) => kind === "empty").length;
  const waiting = !host && !room.options?.autoStart;

  useEffect(() => {
    session.rami.listBotProfiles().then((profiles) => setBots(profiles.map(({ bot }) => bot)), complain);
  }, [session, complain]);

  const attempt = (work: Promise<unknown>) => void work.catch(complain);
  const invitation = `${location.href.split("#")[0]}#/join/${room.joinCode}`;

  return (
    <div class="lobby">
      <section class="panel">
        <h1>{texts.t("lobbyTitle")}</h1>
        <p class="terms">
          {texts.n("goal", scene.target)}
          {room.options?.rules?.aceHigh && ` · ${texts.t("optAceHigh")}`}
          {room.options?.rules?.discardToWin && ` · ${texts.t("optDiscardToWin")}`}
        </p>
        {room.joinCode && (
          <div class="invite">
            <span>{texts.t("code")}</span>
            <output class="code">{room.joinCode}</output>
            <button
              type="button"
              onClick={() =>
                navigator.clipboard?.writeText(invitation).then(
                  () => setCopied(true),
                  () => setCopied(false),
                )
              }
            >
              {texts.t(copied ? "copied" : "invite")}
            </button>
          </div>
        )}
        <ul class="lobby-seats">
          {scene.seats.map((seat) => (
            <li key={seat.seat} class={seat.kind}>
              <span class={`avatar avatar-${seat.seat}`} aria-hidden="true">
                {seat.kind === "empty" ? "" : seat.name.slice(0, 1).toUpperCase()}
              </span>
              <span class="who">
                <strong>{seat.kind === "empty" ? texts.t("seatEmpty") : seat.name}</strong>
                <span class="mark">
                  {texts.t("seatNumber", { n: seat.seat + 1 })}
                  {seat.you && ` · ${texts.t("you")}`}
                  {seat.host && ` · ${texts.t("host")}`}
                </span>
              </span>
              {host && seat.kind === "empty" && (
                <button
                  type="button"
                  onClick={() => attempt(session.rami.updateSeats(room.roomId, { [seat.seat]: level }))}
                >
                  {texts.t("addBot")}
                </button>
              )}
              {host && seat.kind === "bot" && (
                <button
                  type="button"
                  onClick={() => attempt(session.rami.updateSeats(room.roomId, { [seat.seat]: "" }))}
                >
                  {texts.t("removeBot")}
                </button>
              )}
              {own === undefined && seat.kind === "empty" && (
                <button
                  type="button"
                  onClick={() => attempt(session.rami.joinRoom({ roomId: room.roomId }, seat.seat))}
                >
                  {texts.t("sit")}
                </button>
              )}
            </li>
          ))}
        </ul>
        {host && free > 0 && (
          <label class="field inline">
            <span>{texts.t("level")}</span>
            <select value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
              {bots.map((bot) => (
                <option key={bot} value={bot}>
                  {levelName(texts, bot)}
                </option>
              ))}
            </select>
          </label>
        )}
        <p class="status" role="status">
          {free > 0
            ? texts.n("waitSeats", free)
            : waiting
              ? texts.t("waitHost")
              : room.options?.autoStart
                ? texts.t("turnStart")
                : ""}
        </p>
        <div class="row">
          {host && !room.options?.autoStart && (
            <button
              type="button"
              class="primary"
              disabled={free > 0}
              onClick={() => attempt(session.rami.startMatch(room.roomId))}
            >
              {texts.t("start")}
            </button>
          )}
          <button type="button" onClick={onLeave}>
            {texts.t("leave")}
          </button>
        </div>
      </section>
      <section class="panel promise">
        <h2>{texts.t("promiseTitle")}</h2>
        <p>{texts.t("promiseText")}</p>
        <Fingerprint bytes={room.commitment} />
      </section>
    </div>
  );
}
