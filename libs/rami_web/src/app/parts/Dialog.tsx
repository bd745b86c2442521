/** A modal dialog: the browser's own, which keeps the focus inside and gives it back. */
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { useTexts } from "../context.ts";

interface Props {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: Props): JSX.Element {
  const texts = useTexts();
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before the page is drawn: what is in it is never there and out of reach.
  useLayoutEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={heading} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="quiet" onClick={() => element.current?.close()}>
          {texts.t("close")}
        </button>
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
