/** What a transaction would do, the commit, and its report. */

import { Failure } from "../parts/failure.js";
import { useKeptFocus } from "../parts/focus.js";
import { html } from "../parts/html.js";
import { go } from "../shell/route.js";
import type { Report } from "../server/transactions.js";
import { Affected } from "./affected.js";
import { DatomList } from "./datoms.js";
import type { Tried, Trial } from "./trial.js";
import { changesOf, undoOf } from "./undo.js";

export function Preview({ trial }: { trial: Trial }) {
  const tried = trial.tried.value;
  const committed = trial.committed.value;
  const section = useKeptFocus<HTMLElement>();
  return html`
    <section ref=${section} tabindex="-1" class="preview stack" aria-label="What it does" aria-busy=${trial.isRunning.value} data-ended=${trial.ended.value}>
      <${Failure} error=${trial.failure.value} />
      ${trial.isOvertaken.value &&
      html`<p class="row">
        Another transaction came after the dry run.
        <button type="button" onClick=${() => void trial.dryRun()}>Repeat the dry run</button>
      </p>`}
      ${tried && html`<${DryRun} trial=${trial} tried=${tried} />`}
      ${committed && html`<${Committed} report=${committed} />`}
    </section>
  `;
}

function DryRun({ trial, tried }: { trial: Trial; tried: Tried }) {
  const { report, transaction } = tried;
  const changes = changesOf(report);
  const came = changes.filter(({ added }) => added).length;
  return html`
    <p role="status">
      <strong>Dry run at t ${report.basisBefore}:</strong> ${came.toLocaleString()} ${came === 1 ? "datom comes" : "datoms come"},
      ${" "}${(changes.length - came).toLocaleString()} ${changes.length - came === 1 ? "goes" : "go"}. Nothing is committed.
    </p>
    <${Warnings} report=${report} />
    ${changes.length > 0 && html`<${DatomList} datoms=${changes} transaction=${transaction} />`}
    <div class="row">
      <button type="button" disabled=${!trial.isCurrent.value} aria-disabled=${trial.isRunning.value} onClick=${() => void trial.commit()}>Commit</button>
      ${!trial.isCurrent.value && html`<span class="note">The transaction has been changed since. Run it dry again to commit it.</span>`}
    </div>
    <${Affected} tried=${tried} />
  `;
}

function Committed({ report }: { report: Report }) {
  const changes = changesOf(report);
  const tempids = Object.entries(report.tempids);
  const undo = undoOf(report);
  return html`
    <p role="status"><strong>Committed as t ${report.t}</strong> at ${report.txInstant}.</p>
    <${Warnings} report=${report} />
    ${tempids.length > 0 &&
    html`<dl class="facts">${tempids.map(([name, id]) => html`<dt key=${name}>${name}</dt><dd>${String(id)}</dd>`)}</dl>`}
    ${changes.length > 0 &&
    html`
      <${DatomList} datoms=${changes} />
      <div class="row">
        <button type="button" class="quiet" onClick=${() => go("change", { tx: undo })}>Write the transaction that undoes it</button>
        <span class="note">It is put in the editor, to be read and edited first.</span>
      </div>
    `}
  `;
}

function Warnings({ report }: { report: Report }) {
  if (report.warnings.length === 0) return null;
  return html`<ul class="values warnings">${report.warnings.map(({ code, message }, i) => html`<li key=${i}><strong>${code}</strong> ${message}</li>`)}</ul>`;
}
