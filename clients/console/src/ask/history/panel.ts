/** The history at the side: searched as one types, restored with Enter or a click. */

import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../../parts/html.js";
import { closeAside } from "../../parts/side.js";
import { restore } from "../state.js";
import { entries, forgetAll, keyOf, type Entry } from "./entries.js";

export function History() {
  const [words, setWords] = useState("");
  const list = useRef<HTMLUListElement>(null);
  const field = useRef<HTMLInputElement>(null);
  // After the panel has focused its heading.
  useEffect(() => queueMicrotask(() => field.current?.focus()), []);
  const all = entries.value;
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((each) => wanted.every((word) => textOf(each).includes(word)));
  const take = (entry: Entry) => {
    closeAside();
    restore(entry);
  };
  const move = (event: KeyboardEvent) => {
    const buttons = [...(list.current?.querySelectorAll("button") ?? [])];
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    if (event.key === "ArrowDown") buttons[at + 1]?.focus();
    else if (event.key === "ArrowUp") (at > 0 ? buttons[at - 1] : field.current)?.focus();
    else if (event.key === "Enter" && at < 0 && found[0]) take(found[0]);
    else return;
    event.preventDefault();
  };
  return html`
    <div class="stack" onKeyDown=${move}>
      <label class="search">Search <input ref=${field} type="search" value=${words} onInput=${(event: Event) => setWords((event.target as HTMLInputElement).value)} /></label>
      <p class="note" role="status">${found.length.toLocaleString()} of ${all.length.toLocaleString()} queries, kept in this browser</p>
      <ul class="history" ref=${list}>
        ${found.map(
          (each) => html`<li key=${keyOf(each)}>
            <button type="button" class="quiet history-entry" onClick=${() => take(each)}>
              <code>${each.query}</code>
              ${each.argsEdn.some(Boolean) && html`<code class="note">${each.argsEdn.join("  ")}</code>`}
              <span class="note">${new Date(each.at).toLocaleString()} · ${each.rows.toLocaleString()} rows · ${each.ms.toFixed(1)} ms</span>
            </button>
          </li>`,
        )}
      </ul>
      ${all.length > 0 && html`<div class="row"><button type="button" class="quiet" onClick=${forgetAll}>Forget all</button></div>`}
    </div>
  `;
}

function textOf({ query, argsEdn }: Entry): string {
  return `${query} ${argsEdn.join(" ")}`.toLowerCase();
}
