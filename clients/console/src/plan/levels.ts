/** A plan's strata and levels: what is expected beside what was, with bars of rows and time. */

import { html } from "../parts/html.js";
import type { Level, Plan, Stratum } from "./explanation.js";

export function Levels({ plan }: { plan: Plan }) {
  const rows = Math.max(1, ...plan.levels.map(({ estimate, actual }) => Math.max(estimate, actual?.rows ?? 0)));
  const ms = Math.max(0.001, ...plan.levels.map(({ actual }) => actual?.ms ?? 0));
  return html`
    ${plan.rules.map((stratum) => html`<${Rules} key=${stratum.stratum} stratum=${stratum} />`)}
    <ol class="plan-levels">
      ${plan.levels.map((level) => html`<${Shown} key=${level.variable} level=${level} rows=${rows} ms=${ms} />`)}
    </ol>
  `;
}

function Rules({ stratum: { stratum, recursive, relations, rules, actual } }: { stratum: Stratum }) {
  return html`
    <details class="plan-stratum">
      <summary>
        <strong>Stratum ${stratum}</strong>: ${relations.map(({ name }) => name).join(", ")}${recursive ? ", recursive" : ""}
        ${actual && html`<span class="note"> ${sizes(actual.rows)} in ${actual.ms.toFixed(1)} ms${actual.rounds.length > 1 ? `, rounds of ${actual.rounds.join(", ")}` : ""}${actual.how ? `, ${actual.how}` : ""}</span>`}
      </summary>
      <ul class="plan-clauses">
        ${rules.map(({ when, clause, order }, i) => html`<li key=${i}><span class="note">${when}</span> <code>${clause}</code> <span class="note">order ${order.join(" ")}</span></li>`)}
      </ul>
    </details>
  `;
}

function sizes(rows: Readonly<Record<string, number>>): string {
  return Object.values(rows)
    .map((each) => `${each.toLocaleString()} rows`)
    .join(", ");
}

function Shown({ level: { variable, propose, filter, estimate, actual }, rows, ms }: { level: Level; rows: number; ms: number }) {
  return html`
    <li>
      <code class="plan-variable">${variable}</code>
      <${Bar} label="expected" value=${estimate} most=${rows} unit=${estimate === 1 ? "prefix" : "prefixes"} />
      ${actual && html`<${Bar} label="actual" value=${actual.rows} most=${rows} unit=${`of ${actual.candidates.toLocaleString()} candidates`} />`}
      ${actual && html`<${Bar} label="time" value=${actual.ms} most=${ms} unit="ms" />`}
      <ul class="plan-clauses">
        ${propose.map((clause) => html`<li key=${clause}><span class="note">proposes or intersects</span> <code>${clause}</code></li>`)}
        ${filter.map((clause) => html`<li key=${clause}><span class="note">filters</span> <code>${clause}</code></li>`)}
      </ul>
    </li>
  `;
}

function Bar({ label, value, most, unit }: { label: string; value: number; most: number; unit: string }) {
  const shown = value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });
  return html`
    <div class="plan-bar">
      <span class="note">${label}</span>
      <span class="plan-track"><span class=${`plan-fill ${label}`} style=${{ width: `${Math.max(0.5, (100 * value) / most)}%` }}></span></span>
      <span class="number">${shown} ${unit}</span>
    </div>
  `;
}
