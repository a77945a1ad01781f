/** What one does with the query: run, cancel, format, copy a link, the history. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { html } from "../parts/html.js";
import { openAside } from "../parts/side.js";
import { cancel, isRunning, link, query, run } from "./state.js";

/** What was just done, for a short while. */
const done = signal("");

function say(text: string): void {
  done.value = text;
  window.setTimeout(() => {
    if (done.value === text) done.value = "";
  }, 4000);
}

async function format(): Promise<void> {
  const { formatted } = await import("../editor/format.js");
  const text = formatted(query.value);
  if (text === undefined) say("The brackets or quotes of the query do not match.");
  else query.value = text;
}

async function share(): Promise<void> {
  try {
    await navigator.clipboard.writeText(link());
    say("The link is copied: query, arguments, moment and view are in it.");
  } catch {
    say("This browser does not let the page copy; the address of the page is the link once the query has run.");
  }
}

/** The builder, once it is loaded and wanted. */
export const builder = signal<ComponentType | undefined>(undefined);

async function toggleBuilder(): Promise<void> {
  builder.value = builder.value ? undefined : (await import("./builder/panel.js")).Builder;
}

async function showHistory(): Promise<void> {
  const { History } = await import("./history/panel.js");
  openAside("History", History, {});
}

async function showSaved(): Promise<void> {
  const { SavedQueries } = await import("./saved/panel.js");
  openAside("Saved queries", SavedQueries, {});
}

export function Toolbar() {
  return html`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${() => void run()} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${isRunning.value && html`<button type="button" class="quiet" onClick=${cancel}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${() => void format()}>Format</button>
      <button type="button" class="quiet" aria-pressed=${builder.value ? "true" : "false"} onClick=${() => void toggleBuilder()}>Builder</button>
      <button type="button" class="quiet" onClick=${() => void share()}>Copy link</button>
      <button type="button" class="quiet" onClick=${() => void showHistory()}>History</button>
      <button type="button" class="quiet" onClick=${() => void showSaved()}>Saved</button>
      <span class="note" role="status">${done.value}</span>
    </div>
  `;
}
