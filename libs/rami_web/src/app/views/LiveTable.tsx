/** A match in play: the table, the own hand, and what can be done with it. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Card, without } from "../../client/cards.ts";
import { type Action, actionCards, handPoints, Phase, RoomStatus } from "../../client/index.ts";
import { choicesFor, hintsFrom, usefulCards } from "../choices.ts";
import { usePage } from "../context.ts";
import { useDrag } from "../drag.ts";
import type { Following } from "../follow.ts";
import { CardBack, CardFace, CardRow } from "../parts/Card.tsx";
import { Felt, type FeltActions } from "../parts/Felt.tsx";
import { arranged, Hand, moved, type Order } from "../parts/Hand.tsx";
import { Keys } from "../parts/Keys.tsx";
import { Log } from "../parts/Log.tsx";
import { RoundSummary } from "../parts/Result.tsx";
import { type Clock, SeatPlate, Seats } from "../parts/Seats.tsx";
import type { Scene } from "../scene.ts";

const HINT_LIMIT = 6;

interface Props {
  following: Following;
  scene: Scene;
  onLeave(): void;
}

export function LiveTable({ following, scene, onLeave }: Props): JSX.Element | null {
  const { texts, session, announce, complain } = usePage();
  const { table, state, log, roundEnd } = following;
  const [selection, setSelection] = useState<readonly Card[]>([]);
  const [order, setOrder] = useState<Order>("suit");
  const [free, setFree] = useState<readonly Card[]>([]);
  const [fresh, setFresh] = useState<Card>();
  /** The version that the action on its way was chosen at. */
  const sending = useRef<bigint>();
  const region = useRef<HTMLDivElement>(null);
  const view = state?.view;
  const hand = view?.hand ?? [];
  const own = state?.seat === undefined ? undefined : scene.seats[state.seat];
  const legal = state?.legal?.actions ?? [];
  const myTurn = own?.toMove ?? false;
  const picked = selection.filter((card) => hand.includes(card));
  const choices = useMemo(() => choicesFor(legal, picked), [legal, picked.join()]);
  const hints = useMemo(() => hintsFrom(legal), [legal]);
  const useful = useMemo(() => usefulCards(legal), [legal]);
  const shown = arranged(hand, order, free);

  // The card that was drawn last is marked until the turn ends.
  const before = useRef<readonly Card[]>([]);
  useEffect(() => {
    const came = without(hand, before.current);
    if (came.length === 1 && before.current.length > 0) setFresh(came[0]);
    else if (came.length > 1 || !myTurn) setFresh(undefined);
    before.current = hand;
  }, [hand.join(), myTurn]);
  useEffect(() => {
    if (myTurn && view?.phase === Phase.DRAW) announce(texts.t("turnDraw"));
  }, [myTurn, view?.phase, announce, texts]);

  async function act(action: Action | undefined): Promise<void> {
    // One action for one version. The stream may bring the next one before the answer is here: the turn goes on then,
    // and what was chosen meanwhile stays chosen.
    if (!action || !table || sending.current === table.version) return;
    const at = table.version;
    sending.current = at;
    try {
      following.putAway(); // before it: the action may end a round of its own
      await table.act(action);
      setSelection((now) => (now === selection ? [] : now));
    } catch (error) {
      complain(error);
    } finally {
      if (sending.current === at) sending.current = undefined;
    }
  }

  const forCards = (cards: readonly Card[]) => choicesFor(legal, cards);
  const rules = {
    allows(source: string, cards: readonly Card[], target: string): boolean {
      if (source !== "hand") return target === "hand" || target.startsWith("before-");
      if (target === "discard") return forCards(cards).discard !== undefined;
      if (target === "melds") return forCards(cards).meld !== undefined;
      if (target.startsWith("meld-")) {
        const may = forCards(cards);
        return may.layOffs.has(Number(target.slice(5))) || may.meld !== undefined;
      }
      return cards.length === 1 && (target.startsWith("before-") || target === "hand");
    },
    drop(source: string, cards: readonly Card[], target: string): void {
      const may = forCards(cards);
      if (source === "stock") void act(may.drawStock);
      else if (source === "pile") void act(may.drawDiscard);
      else if (target === "discard") void act(may.discard);
      else if (target === "melds") void act(may.meld);
      else if (target.startsWith("meld-")) void act(may.layOffs.get(Number(target.slice(5))) ?? may.meld);
      else if (cards[0] !== undefined) move(cards[0], target === "hand" ? undefined : Number(target.slice(7)));
    },
  };
  const { drag, grab } = useDrag(rules);

  function move(card: Card, to: Card | undefined): void {
    setFree(moved(shown, card, to));
    setOrder("free");
  }
  function toggle(card: Card): void {
    setSelection(picked.includes(card) ? without(picked, [card]) : [...picked, card]);
  }

  const latest = useRef((_event: KeyboardEvent): void => {});
  latest.current = (event) => {
    const target = event.target as HTMLElement;
    const inside = target === document.body || target.id === "main" || region.current?.contains(target);
    if (!inside || target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1];
    const action = {
      KeyS: choices.drawStock,
      KeyP: choices.drawDiscard,
      KeyM: choices.meld,
      KeyD: choices.discard,
      ...(digit && { [event.code]: choices.layOffs.get(Number(digit)) }),
    }[event.code];
    if (event.key === "Escape") setSelection([]);
    else if (action) {
      event.preventDefault();
      void act(action);
    }
  };
  useEffect(() => {
    const hear = (event: KeyboardEvent) => latest.current(event);
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);

  if (!table || !state) return null;
  const over = state.room.status === RoomStatus.OVER;
  const clock: Clock = {
    turn: state.room.turn,
    limitSeconds: Number(state.room.options?.turnTimeLimit?.seconds ?? 0n),
    offsetMs: table.clockOffsetMs,
  };
  const does = (action: Action | undefined) => (action ? () => void act(action) : undefined);
  const felt: FeltActions = {
    drawStock: does(choices.drawStock),
    drawPile: does(choices.drawDiscard),
    layOff: new Map([...choices.layOffs].map(([number, action]) => [number, () => void act(action)])),
    grab,
    drag,
    allows: (target) => drag !== undefined && rules.allows(drag.source, drag.cards, target),
  };

  return (
    <div
      class={`table${myTurn ? " my-turn" : ""}${over ? " over" : ""}`}
      ref={region}
      data-testid="table"
      data-version={String(table.version)}
    >
      <div class="board">
        {!over && <h1 class="hidden">{texts.t("round", { n: scene.roundNumber })}</h1>}
        {!over && (
          <div class="status-line">
            <p class="turn" role="status">
              {turnText()}
            </p>
            <p class="terms">
              {texts.t("round", { n: scene.roundNumber })} · {texts.n("goal", scene.target)}
            </p>
          </div>
        )}
        <Seats scene={scene} clock={clock} />
        {roundEnd && <RoundSummary ended={roundEnd} scene={scene} onClose={following.putAway} />}
        <Felt scene={scene} actions={own ? felt : undefined} />
        {own && !over && (
          <section class="own" aria-label={texts.t("hand")}>
            {own.standIn && (
              <p class="banner" role="status">
                {texts.t("standIn")}
                <button
                  type="button"
                  onClick={() => session.rami.joinRoom({ roomId: state.room.roomId }).catch(complain)}
                >
                  {texts.t("takeBack")}
                </button>
              </p>
            )}
            <div class="own-head">
              <SeatPlate seat={own} clock={myTurn ? clock : undefined} />
              <span class="worth">{texts.n("handPoints", handPoints(hand, view?.options?.aceHigh ?? false))}</span>
              <span class="sorts">
                {(["suit", "rank"] as const).map((each) => (
                  <button
                    key={each}
                    type="button"
                    class="quiet small"
                    aria-pressed={order === each}
                    onClick={() => setOrder(each)}
                  >
                    {texts.t(each === "suit" ? "sortSuit" : "sortRank")}
                  </button>
                ))}
              </span>
            </div>
            <Hand
              cards={shown}
              selection={picked}
              useful={useful}
              fresh={fresh}
              drag={drag}
              onToggle={toggle}
              onMove={move}
              onGrab={(event, card) => grab(event, "hand", picked.includes(card) ? picked : [card])}
            />
            {myTurn && view?.phase === Phase.PLAY && (
              <Hints hints={hints} onPick={(action) => setSelection(actionCards(action))} />
            )}
            <div class="actions">
              <button
                type="button"
                class="primary"
                aria-disabled={!choices.meld}
                aria-keyshortcuts="M"
                onClick={() => void act(choices.meld)}
              >
                {texts.t("meld")}
                <kbd aria-hidden="true">M</kbd>
              </button>
              <button
                type="button"
                class="primary discard-button"
                aria-disabled={!choices.discard}
                aria-keyshortcuts="D"
                onClick={() => void act(choices.discard)}
              >
                {texts.t("discard")}
                <kbd aria-hidden="true">D</kbd>
              </button>
              <button
                type="button"
                aria-disabled={picked.length === 0}
                aria-keyshortcuts="Escape"
                onClick={() => setSelection([])}
              >
                {texts.t("clear")}
              </button>
            </div>
          </section>
        )}
      </div>
      <aside class="side">
        <Log entries={log} />
        {own && !over && <Keys />}
        {!over && (
          <button type="button" class="quiet" onClick={onLeave}>
            {texts.t("leave")}
          </button>
        )}
      </aside>
      {drag && (
        <div class="ghost" style={{ left: `${drag.x}px`, top: `${drag.y}px` }} aria-hidden="true">
          {(drag.cards.length > 0 ? drag.cards : [undefined]).map((card) => (
            <span class="card" key={card}>
              {card !== undefined ? <CardFace card={card} /> : <CardBack />}
            </span>
          ))}
        </div>
      )}
    </div>
  );

  function turnText(): string {
    if (own && myTurn) return texts.t(scene.drawing ? "turnDraw" : "turnPlay");
    const acting = scene.seats.find((seat) => seat.toMove);
    const line = acting
      ? texts.t("turnOther", { name: acting.name })
      : texts.t(scene.roundNumber ? "turnDeal" : "turnStart");
    return own ? line : `${texts.t("watching")} ${line}`;
  }
}

/** What the server's list allows, as buttons that pick the cards. */
function Hints({ hints, onPick }: { hints: Action[]; onPick(action: Action): void }): JSX.Element {
  const { texts } = usePage();
  if (hints.length === 0) return <p class="hint-text">{texts.t("hintsNone")}</p>;
  return (
    <div class="hints">
      <span class="hint-text">{texts.t("hints")}</span>
      <ul>
        {hints.slice(0, HINT_LIMIT).map((action) => (
          <li key={JSON.stringify(action.kind)}>
            <button type="button" class="hint" onClick={() => onPick(action)}>
              <span>
                {action.kind.case === "layOff" ? texts.t("layOff", { n: action.kind.value.meld }) : texts.t("meld")}
              </span>
              <CardRow cards={actionCards(action)} small />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
