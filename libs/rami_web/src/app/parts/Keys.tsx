/** The keys of the table. */
import type { JSX } from "preact";
import { usePage } from "../context.ts";
import type { TextKey } from "../i18n.ts";

const KEYS: readonly [string, TextKey][] = [
  ["← →", "keyMove"],
  ["⇧ ← →", "keyCarry"],
  ["␣", "keyPick"],
  ["S", "keyStock"],
  ["P", "keyPile"],
  ["M", "keyMeld"],
  ["1 … 9", "keyLayOff"],
  ["D", "keyDiscard"],
  ["Esc", "keyClear"],
];

export function Keys(): JSX.Element {
  const { texts } = usePage();
  return (
    <details class="keys">
      <summary>{texts.t("keys")}</summary>
      <dl>
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{texts.t(text)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
