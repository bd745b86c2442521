/** What happened so far, the latest at the end and in sight. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { usePage } from "../context.ts";
import type { LogEntry } from "../follow.ts";

export function Log({ entries }: { entries: readonly LogEntry[] }): JSX.Element {
  const { texts } = usePage();
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [entries.length]);
  return (
    <details class="log" open={matchMedia("(min-width: 64rem)").matches}>
      <summary>{texts.t("log")}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keys */}
      <ol ref={list} tabIndex={0}>
        {entries.map(({ id, text, heading }) => (
          <li key={id} class={heading ? "heading" : ""}>
            {text}
          </li>
        ))}
      </ol>
    </details>
  );
}
