/** A modal dialog: the browser's own, which keeps the focus within and closes with Escape. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { html } from "./html.js";

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children?: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return html`
    <dialog ref=${element} onClose=${onClose} aria-label=${title}>
      <header class="row">
        <h2>${title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${() => element.current?.close()}>✕</button>
      </header>
      ${children}
    </dialog>
  `;
}
