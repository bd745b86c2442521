/** The player's hand: picking, sorting and moving cards by pointer and by keys. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Card, rankNumber, suitNumber } from "../../client/cards.ts";
import { cardName, usePage } from "../context.ts";
import type { Drag } from "../drag.ts";
import { CardFace } from "./Card.tsx";

export type Order = "suit" | "rank" | "free";

/** Black and red suits alternate, so that neighbours are told apart. */
const SUIT_PLACE = [0, 1, 3, 2];

/** The cards in the order that the player wants; in a free order new cards come last. */
export function arranged(hand: readonly Card[], order: Order, free: readonly Card[]): Card[] {
  if (order === "free") {
    return [...free.filter((card) => hand.includes(card)), ...hand.filter((card) => !free.includes(card))];
  }
  const suit = (card: Card) => SUIT_PLACE[suitNumber(card)] ?? 0;
  const value = (card: Card) =>
    order === "suit" ? suit(card) * 13 + rankNumber(card) : rankNumber(card) * 4 + suit(card);
  return [...hand].sort((a, b) => value(a) - value(b));
}

/** The cards with one of them moved in front of another, or to the end. */
export function moved(cards: readonly Card[], card: Card, before: Card | undefined): Card[] {
  if (card === before) return [...cards];
  const rest = cards.filter((each) => each !== card);
  const at = before === undefined ? rest.length : rest.indexOf(before);
  return [...rest.slice(0, at), card, ...rest.slice(at)];
}

interface Props {
  cards: readonly Card[];
  selection: readonly Card[];
  useful: ReadonlySet<Card>;
  fresh: Card | undefined;
  drag: Drag | undefined;
  onToggle(card: Card): void;
  onMove(card: Card, before: Card | undefined): void;
  onGrab(event: PointerEvent, card: Card): void;
}

export function Hand({ cards, selection, useful, fresh, drag, onToggle, onMove, onGrab }: Props): JSX.Element {
  const { texts } = usePage();
  const list = useRef<HTMLUListElement>(null);
  const [current, setCurrent] = useState(0);
  const place = Math.min(current, cards.length - 1);
  const refocus = useRef(false);

  const buttons = () => [...(list.current?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
  // A card that was played takes the focus with it: its neighbour gets it.
  useEffect(() => {
    if (
      refocus.current &&
      !list.current?.contains(document.activeElement) &&
      document.activeElement === document.body
    ) {
      buttons()[place]?.focus();
    }
    refocus.current = list.current?.contains(document.activeElement) ?? false;
  });

  function go(to: number): void {
    const next = Math.max(0, Math.min(cards.length - 1, to));
    setCurrent(next);
    buttons()[next]?.focus();
  }

  function key(event: KeyboardEvent, at: number): void {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -cards.length, End: cards.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const card = cards[at];
    if (event.shiftKey && card !== undefined) {
      const before = step < 0 ? cards[Math.max(0, at + step)] : cards[at + step + 1];
      onMove(card, before);
      setCurrent(Math.max(0, Math.min(cards.length - 1, at + step)));
      requestAnimationFrame(() =>
        buttons()
          .find((button) => button.dataset.card === String(card))
          ?.focus(),
      );
    } else go(at + step);
  }

  return (
    <ul
      class="hand"
      style={{ "--per-row": cards.length > 6 ? Math.ceil(cards.length / 2) : 6 }}
      ref={list}
      data-drop="hand"
      onFocusCapture={() => (refocus.current = true)}
    >
      {cards.map((card, at) => {
        const picked = selection.includes(card);
        const carried = drag?.source === "hand" && drag.cards.includes(card);
        const says = [
          cardName(texts, card),
          card === fresh && texts.t("fresh"),
          useful.has(card) && texts.t("useful"),
        ].filter(Boolean);
        return (
          <li
            key={card}
            data-drop={`before-${card}`}
            class={`${picked ? "picked " : ""}${carried ? "carried " : ""}${card === fresh ? "fresh " : ""}${useful.has(card) ? "useful" : ""}`}
          >
            <button
              type="button"
              class="card"
              data-card={card}
              aria-pressed={picked}
              aria-label={says.join(", ")}
              tabIndex={at === place ? 0 : -1}
              onClick={() => {
                setCurrent(at);
                onToggle(card);
              }}
              onKeyDown={(event) => key(event, at)}
              onPointerDown={(event) => onGrab(event, card)}
            >
              <CardFace card={card} />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
