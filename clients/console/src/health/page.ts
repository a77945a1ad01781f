/** How the server is: its figures with five minutes of past, its parts, and the queries that run. */

import { useEffect } from "preact/hooks";
import { html } from "../parts/html.js";
import { isAdmin } from "../server/database.js";
import { GROUPS, type Figure } from "./figures.js";
import { Running } from "./running.js";
import { failed, type Moment, moments, open, readiness } from "./samples.js";
import { Sparkline } from "./sparkline.js";

export function Health() {
  useEffect(open, []);
  return html`
    <div class="health">
      <h1>Health</h1>
      <${Readiness} />
      ${failed.value && html`<p class="error" role="alert">${failed.value}</p>`}
      ${isAdmin() && html`<${Running} />`}
      ${GROUPS.map(
        ({ title, figures }) => html`
          <section key=${title} aria-label=${title}>
            <h2>${title}</h2>
            <div class="figures">${figures.map((figure) => html`<${Tile} key=${figure.title} figure=${figure} />`)}</div>
          </section>
        `,
      )}
      <p class="note">Figures of all workers, every two seconds from the first look at this page on, from <a href="metrics">/metrics</a>.</p>
    </div>
  `;
}

function Readiness() {
  const { status, why, spark, workers, behind } = readiness.value;
  if (status === undefined) return null;
  const { all, ready } = (workers ?? {}) as { all?: number; ready?: number };
  return html`<p class=${`readiness ${status === "ready" ? "ready" : ""}`} role="status">
    ${status === "ready" ? "The server is ready." : `The server is not ready: ${String(why)}.`} Spark is ${String(spark ?? "unknown")}.
    ${all === undefined ? "" : ` ${ready} of ${all} workers are ready.`} ${behind ? ` It cannot read what others write: ${String(behind)}.` : ""}
  </p>`;
}

function Tile({ figure }: { figure: Figure }) {
  const all = moments.value;
  const points = all.slice(1).flatMap(({ time, metrics }, i) => {
    const before = all[i] as Moment;
    const value = figure.value(metrics, before.metrics, Math.max(0.1, time - before.time));
    return value === undefined ? [] : [{ time, value }];
  });
  const last = points.at(-1)?.value;
  const known = points.filter(({ value }) => Number.isFinite(value));
  const values = known.map(({ value }) => value);
  if (last === undefined && figure.isOptional) return null;
  return html`
    <div class="figure" title=${figure.means}>
      <span class="figure-title">${figure.title}</span>
      <strong>${last === undefined ? "–" : figure.written(last)}</strong>
      <${Sparkline}
        points=${known}
        now=${all.at(-1)?.time ?? 0}
        label=${known.length < 2 ? "" : `from ${figure.written(Math.min(...values))} to ${figure.written(Math.max(...values))} in the last five minutes`}
      />
    </div>
  `;
}
