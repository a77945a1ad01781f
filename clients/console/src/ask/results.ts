/** The answer: its figures, what is suspicious about it, and its views. */

import { destination } from "../editor/destination.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { MomentContext, momentOf } from "../parts/moment.js";
import { ZoneButton } from "../parts/time.js";
import type { Answer } from "../server/answers.js";
import { openWhyNot } from "../why/open.js";
import { mode, view } from "./shown.js";
import { answer, ended, failure, isEdited, isRunning, nameShown } from "./state.js";
import { offered } from "./views.js";
import { Welcome } from "./welcome.js";

const SaveMenu = later(async () => (await import("../files/menu.js")).SaveMenu);

export function Results() {
  const shown = answer.value;
  return html`
    <section class="results" aria-label="Answer" aria-busy=${isRunning.value} data-ended=${ended.value}>
      <${Failed} />
      ${shown ? html`<${Shown} answer=${shown} />` : !failure.value && (isRunning.value ? html`<p class="empty asking" role="status">Asking…</p>` : html`<${Welcome} />`)}
    </section>
  `;
}

/** An error of the query; it leads to its place in the editor. */
function Failed() {
  const error = failure.value as { line?: number; column?: number; origin?: string } | undefined;
  if (!error) return null;
  const { line, column } = error;
  return html`<div>
    <${Failure} error=${error} />
    ${line !== undefined && column !== undefined && !error.origin && html`<button type="button" class="quiet small" onClick=${() => (destination.value = { line, column })}>Go to line ${line}</button>`}
  </div>`;
}

function Shown({ answer: shown }: { answer: Answer }) {
  const views = offered(shown);
  const current = views.find(({ name }) => name === view.value) ?? views[0];
  return html`
    <${MomentContext.Provider} value=${momentOf(shown)}>
      <div class="results-head">
        ${views.length > 1 && html`<${Tabs} views=${views} current=${current?.name} />`}
        <div class="note row">
          ${isEdited.value && html`<span class="edited">The query was edited since.</span>`}
          ${mode.value !== "live" && html`<span role="status">${figures(shown)}</span>`}
          <button type="button" class="quiet small" onClick=${() => openWhyNot(shown)}>Why not…</button>
          ${shown.columns.some(({ type }) => type === "instant") && html`<${ZoneButton} />`}
          ${shown.rows.length > 0 && html`<${SaveMenu} answer=${shown} />`}
        </div>
      </div>
      <${Warnings} warnings=${shown.warnings} />
      <div class="view" id="view" role=${views.length > 1 ? "tabpanel" : undefined} aria-label=${views.length > 1 ? current?.title : undefined}>
        ${current && html`<${current.component} key=${current.name} answer=${shown} />`}
      </div>
    <//>
  `;
}

function figures({ rows, basisT, stats }: Answer): string {
  const { elapsedMs, engine, cache } = stats;
  const count = `${rows.length.toLocaleString()} ${rows.length === 1 ? "row" : "rows"}`;
  return `${count} at t ${basisT} in ${elapsedMs.toFixed(1)} ms, ${engine.toLowerCase()}, cache ${cache.toLowerCase()}`;
}

function show(name: string): void {
  view.value = name;
  nameShown();
}

function Tabs({ views, current }: { views: ReturnType<typeof offered>; current: string | undefined }) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const place = views.findIndex(({ name }) => name === current);
    const next = step === undefined ? undefined : views.at((place + step) % views.length);
    if (!next) return;
    event.preventDefault();
    show(next.name);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-view="${next.name}"]`)?.focus();
  };
  return html`
    <div class="tabs" role="tablist" aria-label="Views of the answer" onKeyDown=${onKeyDown}>
      ${views.map(
        ({ name, title }) => html`
          <button
            type="button"
            role="tab"
            key=${name}
            class="quiet"
            data-view=${name}
            aria-selected=${name === current}
            aria-controls="view"
            tabindex=${name === current ? 0 : -1}
            onClick=${() => show(name)}
          >
            ${title}
          </button>
        `,
      )}
    </div>
  `;
}

function Warnings({ warnings }: { warnings: Answer["warnings"] }) {
  if (warnings.length === 0) return null;
  return html`<ul class="warnings" aria-label="Warnings">
    ${warnings.map(
      ({ code, message, line, column }, i) => html`
        <li key=${i}>
          <strong>${code}</strong> ${message}
          ${line !== null && html` <button type="button" class="quiet small" onClick=${() => (destination.value = { line, column: column ?? 1 })}>line ${line}, column ${column ?? 1}</button>`}
        </li>
      `,
    )}
  </ul>`;
}
