/**
 * Dragging cards with a pointer of any kind. Targets are elements with a `data-drop` name; what may be dropped where
 * is asked of the caller. A press that does not move stays a click.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Card } from "../client/cards.ts";

export type Source = "hand" | "stock" | "pile";

export interface Drag {
  source: Source;
  cards: readonly Card[];
  x: number;
  y: number;
  /** The target below the pointer, if these cards may be dropped there. */
  over: string | undefined;
}

interface Rules {
  allows(source: Source, cards: readonly Card[], target: string): boolean;
  drop(source: Source, cards: readonly Card[], target: string): void;
}

const THRESHOLD = 7;

function targetAt(x: number, y: number): string | undefined {
  const found = document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-drop]");
  return found?.dataset.drop;
}

export function useDrag(rules: Rules): {
  drag: Drag | undefined;
  grab(event: PointerEvent, source: Source, cards: readonly Card[]): void;
} {
  const [drag, setDrag] = useState<Drag>();
  const latest = useRef(rules);
  latest.current = rules;
  const stop = useRef<() => void>();
  useEffect(() => () => stop.current?.(), []);

  const grab = useCallback((event: PointerEvent, source: Source, cards: readonly Card[]) => {
    if (event.button !== 0 || !event.isPrimary) return;
    stop.current?.();
    const start = { x: event.clientX, y: event.clientY };
    let moving: Drag | undefined;

    const move = (now: PointerEvent) => {
      if (!moving && Math.hypot(now.clientX - start.x, now.clientY - start.y) < THRESHOLD) return;
      const target = targetAt(now.clientX, now.clientY);
      const over = target && latest.current.allows(source, cards, target) ? target : undefined;
      moving = { source, cards, x: now.clientX, y: now.clientY, over };
      setDrag(moving);
    };
    const end = (now: PointerEvent) => {
      stop.current?.();
      if (!moving) return;
      // The click that follows a drag is none.
      addEventListener("click", swallow, { capture: true, once: true });
      setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
      if (now.type === "pointerup" && moving.over) latest.current.drop(source, cards, moving.over);
    };
    const key = (now: KeyboardEvent) => {
      if (now.key === "Escape") stop.current?.();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
    addEventListener("keydown", key);
    stop.current = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      removeEventListener("keydown", key);
      stop.current = undefined;
      setDrag(undefined);
    };
  }, []);
  return { drag, grab };
}

function swallow(event: Event): void {
  event.stopPropagation();
  event.preventDefault();
}
