/** The plan of an answer's question: measured on request, and beside the plan with another variable given. */

import { useEffect, useState } from "preact/hooks";
import { copy } from "../files/save.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import type { Answer, Question } from "../server/answers.js";
import { bound, freeVariables, sampleOf } from "./bindings.js";
import { explanationOf, type Explanation } from "./explanation.js";
import { Levels } from "./levels.js";

export function Plan({ answer }: { answer: Answer }) {
  const { question } = answer;
  const [isMeasured, setMeasured] = useState(false);
  const [other, setOther] = useState<{ readonly title: string; readonly question: Question }>();
  useEffect(() => {
    setMeasured(false);
    setOther(undefined);
  }, [question]);
  return html`
    <div class="plan">
      <div class="row">
        <button type="button" onClick=${() => setMeasured(true)} disabled=${isMeasured}>Run and measure</button>
        <${Binding} answer=${answer} onChosen=${(variable: string, edn: string) => setOther({ title: `With ${variable} = ${edn}`, question: bound(question, variable, edn) })} />
      </div>
      <div class="plans">
        <${Explained} title="As asked" question=${question} isMeasured=${isMeasured} />
        ${other && html`<${Explained} key=${other.title} title=${other.title} question=${other.question} isMeasured=${isMeasured} />`}
      </div>
    </div>
  `;
}

/** A variable to be given, and its value. */
function Binding({ answer, onChosen }: { answer: Answer; onChosen: (variable: string, edn: string) => void }) {
  const variables = freeVariables(answer.question);
  const [variable, setVariable] = useState(variables[0] ?? "");
  const [edn, setEdn] = useState(sampleOf(answer, variable));
  if (variables.length === 0) return null;
  const choose = (event: Event) => {
    const chosen = (event.target as HTMLSelectElement).value;
    setVariable(chosen);
    setEdn(sampleOf(answer, chosen));
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onChosen(variable, edn);
  };
  return html`
    <form class="row" onSubmit=${submit}>
      <label>If <select value=${variable} onChange=${choose}>${variables.map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      <label>were <input class="code" required placeholder="EDN" value=${edn} onInput=${(event: Event) => setEdn((event.target as HTMLInputElement).value)} /></label>
      <button type="submit" class="quiet">Compare</button>
    </form>
  `;
}

function Explained({ title, question, isMeasured }: { title: string; question: Question; isMeasured: boolean }) {
  const [found, setFound] = useState<Explanation>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    setError(undefined);
    // Without measuring, the query is not run.
    explanationOf(question, isMeasured, stop.signal).then(setFound, (failure: unknown) => !stop.signal.aborted && setError(failure));
    return () => stop.abort();
  }, [question, isMeasured]);
  const plan = found?.plan;
  return html`
    <section aria-label=${`Plan: ${title}`}>
      <h3>${title}</h3>
      <${Failure} error=${error} />
      ${plan === undefined && !error && html`<p class="note" role="status">Planning…</p>`}
      ${plan &&
      found &&
      html`
        <p role="status">
          ${plan.engine.toLowerCase()}: ${plan.reason}. Order <code>${plan.order.join(" ")}</code>, cost ${plan.cost.toLocaleString("en", { maximumFractionDigits: 0 })}, about
          ${" "}${plan.estimatedRows.toLocaleString("en", { maximumFractionDigits: 0 })} rows expected${plan.rows === undefined ? "" : `, ${plan.rows.toLocaleString()} rows in ${(plan.elapsedMs ?? 0).toFixed(1)} ms`}.
          ${" "}Live: ${plan.live.how}${plan.live.reason ? ` (${plan.live.reason})` : ""}.
        </p>
        <${Levels} plan=${plan} />
        <details>
          <summary>As text</summary>
          <pre class="plan-text" tabindex="0" aria-label="Plan as text">${found.text}</pre>
          <button type="button" class="quiet" onClick=${() => void copy(found.text)}>Copy</button>
        </details>
      `}
    </section>
  `;
}
