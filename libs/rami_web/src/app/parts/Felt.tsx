/** The middle of the table: stock, discard pile and melds. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Card } from "../../client/cards.ts";
import { cardName, cardNames, usePage } from "../context.ts";
import type { Drag, Source } from "../drag.ts";
import type { Scene } from "../scene.ts";
import { CardBack, CardFace } from "./Card.tsx";
import { Dialog } from "./Dialog.tsx";

export interface FeltActions {
  drawStock: (() => void) | undefined;
  drawPile: (() => void) | undefined;
  /** What laying off the selection on a meld does; by number. */
  layOff: ReadonlyMap<number, () => void>;
  grab(event: PointerEvent, source: Source, cards: readonly Card[]): void;
  drag: Drag | undefined;
  allows(target: string): boolean;
}

export function Felt({ scene, actions }: { scene: Scene; actions?: FeltActions | undefined }): JSX.Element {
  return (
    <div class="felt">
      <Piles scene={scene} actions={actions} />
      <Melds scene={scene} actions={actions} />
    </div>
  );
}

function dropClass(actions: FeltActions | undefined, target: string): string {
  if (!actions?.drag || !actions.allows(target)) return "";
  return actions.drag.over === target ? " drop-here" : " drop-there";
}

function Piles({ scene, actions }: { scene: Scene; actions: FeltActions | undefined }): JSX.Element {
  const { texts } = usePage();
  const [open, setOpen] = useState(false);
  const top = scene.discards.at(-1);
  const below = scene.discards.at(-2);
  const stockText =
    scene.stockSize === 0 && actions?.drawStock ? texts.t("drawEnd") : texts.n("stockCards", scene.stockSize);
  return (
    <div class="piles">
      {open && (
        <Dialog title={texts.t("pile")} onClose={() => setOpen(false)}>
          <ol class="whole-pile" aria-label={texts.t("pile")}>
            {[...scene.discards].reverse().map((card) => (
              <li class="card" key={card}>
                <CardFace card={card} />
                <span class="hidden">{cardName(texts, card)}</span>
              </li>
            ))}
          </ol>
          {top === undefined && <p>{texts.t("pileEmpty")}</p>}
        </Dialog>
      )}
      <div class="pile-place">
        <button
          type="button"
          class={`pile stock${actions?.drawStock ? " legal" : ""}`}
          aria-label={actions?.drawStock ? `${texts.t("drawStock")}. ${stockText}` : stockText}
          aria-disabled={!actions?.drawStock}
          aria-keyshortcuts="S"
          onClick={() => actions?.drawStock?.()}
          onPointerDown={(event) => actions?.drawStock && actions.grab(event, "stock", [])}
        >
          {scene.stockSize > 1 && (
            <span class="card under">
              <CardBack />
            </span>
          )}
          <span class={`card${scene.stockSize ? "" : " void"}`}>{scene.stockSize > 0 && <CardBack />}</span>
        </button>
        <span class="pile-label" aria-hidden="true">
          {texts.t("stock")} · {scene.stockSize}
        </span>
      </div>
      <div class="pile-place">
        <button
          type="button"
          data-drop={actions ? "discard" : undefined}
          class={`pile discards${actions?.drawPile ? " legal" : ""}${dropClass(actions, "discard")}`}
          aria-label={
            top === undefined
              ? texts.t("pileEmpty")
              : actions?.drawPile
                ? `${texts.t("drawPile", { card: cardName(texts, top) })}. ${texts.t("pile")}`
                : `${texts.t("pile")}. ${texts.t("pileTop", { card: cardName(texts, top) })}`
          }
          aria-disabled={!actions?.drawPile}
          aria-keyshortcuts="P"
          onClick={() => actions?.drawPile?.()}
          onPointerDown={(event) => top && actions?.drawPile && actions.grab(event, "pile", [top])}
        >
          {below && (
            <span class="card under">
              <CardFace card={below} />
            </span>
          )}
          <span class={`card${top ? "" : " void"}`} key={top}>
            {top && <CardFace card={top} />}
          </span>
        </button>
        <button type="button" class="pile-label" aria-haspopup="dialog" onClick={() => setOpen(true)}>
          {texts.t("pile")} · {scene.discards.length}
        </button>
      </div>
    </div>
  );
}

function Melds({ scene, actions }: { scene: Scene; actions: FeltActions | undefined }): JSX.Element {
  const { texts } = usePage();
  return (
    <section class={`melds${dropClass(actions, "melds")}`} data-drop={actions ? "melds" : undefined}>
      <h2>{texts.t("melds")}</h2>
      {scene.melds.length === 0 && <p class="none">{texts.t("meldsNone")}</p>}
      <ul>
        {scene.melds.map(({ number, cards }) => {
          const lay = actions?.layOff.get(number);
          const target = `meld-${number}`;
          return (
            <li key={number} data-drop={actions ? target : undefined} class={`meld${dropClass(actions, target)}`}>
              <span class="number" aria-hidden="true">
                {number}
              </span>
              <span
                class="run"
                role="img"
                aria-label={`${texts.t("meldNumber", { n: number })}: ${cardNames(texts, cards)}`}
              >
                {cards.map((card) => (
                  <span class="card" key={card}>
                    <CardFace card={card} />
                  </span>
                ))}
              </span>
              {lay && (
                <button type="button" class="lay" aria-keyshortcuts={String(number)} onClick={lay}>
                  {texts.t("layOff", { n: number })}
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
