/** The stream of the question: its state, rows a second, and a pause. */

import type { LiveStatus } from "@adalog/client";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { as, ended, failure, question } from "../ask/state.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { Feed, type Waiting } from "./feed.js";

const STATUS: Readonly<Record<LiveStatus, string>> = {
  loading: "Connecting…",
  live: "Live",
  stale: "Not up to date: connecting again…",
  failed: "Ended by an error",
  closed: "Closed",
};

const opened = signal<Feed | undefined>(undefined);

export function LiveControls() {
  // Each run asks anew, perhaps another question.
  useEffect(() => {
    if (failure.peek() !== undefined) return;
    const feed = (opened.value = new Feed(question.peek()));
    return () => {
      feed.close();
      if (opened.peek() === feed) opened.value = undefined;
    };
  }, [ended.value]);
  const feed = opened.value;
  if (feed === undefined) return null;
  const state = feed.state.value;
  const status = state?.status ?? "loading";
  const isPaused = feed.isPaused.value;
  return html`
    <div class="row stream">
      <span class=${`live-status ${status}`} role="status">${STATUS[status]}${as.value ? ", as another identity" : ""}</span>
      ${status === "failed"
        ? html`<button type="button" class="quiet" onClick=${() => feed.retry()}>Open again</button>`
        : html`<button type="button" class="quiet" aria-pressed=${isPaused} onClick=${() => (isPaused ? feed.resume() : feed.pause())}>Pause</button>`}
      ${isPaused ? html`<span>${waitingText(feed.waiting.value)}</span>` : html`<${Rate} feed=${feed} />`}
    </div>
    <${Failure} error=${state?.error} />
    ${feed.restart.value !== undefined && html`<p class="note" role="status">The server sent all rows again: ${feed.restart.value}</p>`}
  `;
}

function Rate({ feed }: { feed: Feed }) {
  const { added, retracted } = feed.rate.value;
  const state = feed.state.value;
  return html`<span class="number">
    ${(state?.rows.length ?? 0).toLocaleString()} rows at t ${state?.basisT ?? "…"} · <span class="came">+${added.toFixed(1)}</span>
    ${" "}<span class="went">−${retracted.toFixed(1)}</span> rows a second
  </span>`;
}

function waitingText({ transactions, added, retracted }: Waiting): string {
  if (transactions === 0) return "Nothing has changed since.";
  return `${transactions} ${transactions === 1 ? "change waits" : "changes wait"}: ${added} added, ${retracted} retracted`;
}
