/** How the server is: its figures with five minutes of past, its parts, and the queries that run. */

import { useEffect } from "preact/hooks";
import { html } from "../parts/html.js";
import { isAdmin } from "../server/database.js";
import { GROUPS, type Figure } from "./figures.js";
import { Running } from "./running.js";
import { failed, follow, moments, readiness } from "./samples.js";
import { Sparkline } from "./sparkline.js";

export function Health() {
  useEffect(() => {
    const stop = new AbortController();
    void follow(stop.signal);
    return () => stop.abort();
  }, []);
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
      <p class="note">Figures of all workers, every two seconds while this page is open, from <a href="metrics">/metrics</a>.</p>
    </div>
  `;
}

function Readiness() {
  const { status, why, spark, workers, behind } = readiness.value;
  if (status === undefined) return null;
  const { all, ready } = (workers ?? {}) as { all?: number; ready?: number };
  return html`<p class=${status === "ready" ? "note" : "error"} role="status">
    ${status === "ready" ? "The server is ready." : `The server is not ready: ${String(why)}.`} Spark is ${String(spark ?? "unknown")}.
    ${all === undefined ? "" : ` ${ready} of ${all} workers are ready.`} ${behind ? ` It cannot read what others write: ${String(behind)}.` : ""}
  </p>`;
}

function Tile({ figure }: { figure: Figure }) {
  const all = moments.value;
  const values = all.slice(1).map((now, i) => {
    const before = all[i];
    return before && figure.value(now.metrics, before.metrics, Math.max(0.1, now.time - before.time));
  });
  const last = values.findLast((each) => each !== undefined);
  const known = values.filter((each): each is number => each !== undefined && Number.isFinite(each));
  if (last === undefined && figure.isOptional) return null;
  return html`
    <div class="figure" title=${figure.means}>
      <span class="figure-title">${figure.title}</span>
      <strong>${last === undefined ? "–" : figure.written(last)}</strong>
      <${Sparkline} values=${values} label=${known.length < 2 ? "" : `from ${figure.written(Math.min(...known))} to ${figure.written(Math.max(...known))} in the last five minutes`} />
    </div>
  `;
}
