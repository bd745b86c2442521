/** The rule sheet of the server, in the language of the page. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RuleSheet } from "../../client/index.ts";
import { usePage } from "../context.ts";
import { Dialog } from "./Dialog.tsx";

export function RulesDialog({ onClose }: { onClose(): void }): JSX.Element {
  const { texts, session, complain, ruleOptions } = usePage();
  const [sheet, setSheet] = useState<RuleSheet>();
  useEffect(() => {
    session.rami.ruleSheet([texts.locale.tag], ruleOptions.current).then(setSheet, complain);
  }, [texts, session, complain, ruleOptions]);
  return (
    <Dialog title={sheet?.title ?? texts.t("rules")} onClose={onClose}>
      {sheet ? (
        <div lang={sheet.locale} class="sheet">
          {sheet.sections.map(({ kind, heading, paragraphs }) => (
            <section key={kind}>
              <h3>{heading}</h3>
              {paragraphs.map((paragraph) => (
                <p key={paragraph}>{paragraph}</p>
              ))}
            </section>
          ))}
        </div>
      ) : (
        <p>{texts.t("loading")}</p>
      )}
    </Dialog>
  );
}
