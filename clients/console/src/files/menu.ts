/** The menu that saves and copies an answer. */

import { useRef, useState } from "preact/hooks";
import { html } from "../parts/html.js";
import type { Answer } from "../server/answers.js";
import { ARROW, copy, download, PARQUET, written } from "./save.js";
import { commaSeparated, json, markdown, tabSeparated } from "./text.js";

export function SaveMenu({ answer }: { answer: Answer }) {
  const element = useRef<HTMLDetailsElement>(null);
  const [isGuarded, setGuarded] = useState(true);
  const [said, setSaid] = useState("");
  const { columns, rows } = answer;
  const run = (what: string, work: () => void | Promise<void>) => async () => {
    setSaid("");
    try {
      await work();
      setSaid(what);
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  const saves: readonly [string, () => void | Promise<void>][] = [
    ["CSV", () => download("answer.csv", commaSeparated(columns, rows, { isGuarded }), "text/csv")],
    ["JSON", () => download("answer.json", json(columns, rows), "application/json")],
    ["Parquet", async () => download("answer.parquet", await written(answer, PARQUET), PARQUET.type)],
    ["Arrow", async () => download("answer.arrows", await written(answer, ARROW), ARROW.type)],
  ];
  const copies: readonly [string, () => string][] = [
    ["Tab-separated", () => tabSeparated(columns, rows)],
    ["Markdown", () => markdown(columns, rows)],
    ["CSV", () => commaSeparated(columns, rows, { isGuarded })],
    ["JSON", () => json(columns, rows)],
  ];
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !element.current?.open) return;
    element.current.open = false;
    element.current.querySelector("summary")?.focus();
    event.stopPropagation();
  };
  return html`
    <details class="menu" ref=${element} onKeyDown=${onKeyDown}>
      <summary>Save or copy</summary>
      <div class="menu-content stack">
        <div class="row" role="group" aria-label="Save as">
          <span>Save as</span>
          ${saves.map(([name, work]) => html`<button type="button" key=${name} class="quiet small" onClick=${run(`Saved as ${name}.`, work)}>${name}</button>`)}
        </div>
        <div class="row" role="group" aria-label="Copy as">
          <span>Copy as</span>
          ${copies.map(([name, text]) => html`<button type="button" key=${name} class="quiet small" onClick=${run(`Copied as ${name}.`, () => copy(text()))}>${name}</button>`)}
        </div>
        <label>
          <input type="checkbox" checked=${isGuarded} onChange=${() => setGuarded(!isGuarded)} />
          In CSV, an apostrophe before texts that a spreadsheet would run as formulas
        </label>
        <p class="note" role="status">${said}</p>
      </div>
    </details>
  `;
}
