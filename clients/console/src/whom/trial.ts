/** A change of policies that is tried: which rows each saved identity would gain and lose, and then its commit. */

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { question } from "../ask/state.js";
import { Editor } from "../editor/editor.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { stored } from "../parts/stored.js";
import { ARBITRARY, answerOf, isArbitrary, type Answer, type Question, type Row } from "../server/answers.js";
import { client } from "../server/client.js";
import { Table, type Mark } from "../table/table.js";
import { identities, type SavedIdentity } from "./identities.js";

const change = signal('[{:policy/name "everybody reads names"\n  :policy/roles [:*]\n  :policy/ops [:read]\n  :policy/on [:user/name]}]');

/** Queries that changes are tried over. */
type SavedQuery = Pick<Question, "query" | "argsEdn">;
const queries = stored<readonly SavedQuery[]>("adalog:policy-queries", []);

interface Outcome {
  readonly identity: SavedIdentity;
  readonly query: SavedQuery;
  readonly after: Answer;
  readonly gained: readonly Row[];
  readonly lost: readonly Row[];
  readonly isArbitrary: boolean;
}

export function Trial() {
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>();
  const [error, setError] = useState<unknown>();
  const [said, setSaid] = useState("");
  const [isBusy, setBusy] = useState(false);
  const during = async (work: () => Promise<void>) => {
    setBusy(true);
    setSaid("");
    try {
      await work();
      setError(undefined);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const attempt = () =>
    during(async () => {
      const found: Outcome[] = [];
      for (const identity of identities.value) for (const query of queries.value) found.push(await outcomeOf(identity, query, change.value));
      setOutcomes(found);
      setSaid(summary(found));
    });
  const commit = () =>
    during(async () => {
      const { t } = await client.transact(change.value);
      setOutcomes(undefined);
      setSaid(`Committed as transaction ${t}.`);
    });
  const current = { query: question.value.query, argsEdn: question.value.argsEdn };
  const isAdded = queries.value.some((each) => isSame(each, current));
  return html`
    <section aria-label="Try a change" aria-busy=${isBusy}>
      <h2>Try a change of policies</h2>
      <${Editor} label="Change of policies" text=${change} onRun=${() => void attempt()} />
      <h3>Queries to compare</h3>
      ${queries.value.length === 0 && html`<p class="note">None yet. Ask one, then add it here.</p>`}
      <ul class="queries">
        ${queries.value.map(
          (each, i) => html`<li key=${i}>
            <pre tabindex="0" aria-label="Query">${each.query}${each.argsEdn.length > 0 ? `\n; ${each.argsEdn.join(" ")}` : ""}</pre>
            <button type="button" class="quiet" aria-label="Remove the query" onClick=${() => (queries.value = queries.value.filter((other) => other !== each))}>✕</button>
          </li>`,
        )}
      </ul>
      <div class="row">
        <button type="button" class="quiet" disabled=${isAdded} onClick=${() => (queries.value = [...queries.value, current])}>Add the query of Ask</button>
        <button type="button" disabled=${isBusy || identities.value.length === 0 || queries.value.length === 0} onClick=${() => void attempt()}>Try</button>
        <button type="button" class="quiet" disabled=${isBusy || outcomes === undefined} onClick=${() => void commit()}>Commit</button>
      </div>
      <${Failure} error=${error} />
      <p role="status">${said}</p>
      ${outcomes?.map((each, i) => html`<${Shown} key=${i} outcome=${each} />`)}
    </section>
  `;
}

function Shown({ outcome: { identity, query, after, gained, lost, isArbitrary: isAny } }: { outcome: Outcome }) {
  const rows = [...gained, ...lost];
  const marks = new Map<Row, Mark>([...gained.map((row) => [row, "added"] as const), ...lost.map((row) => [row, "retracted"] as const)]);
  return html`
    <details class="policy" open=${rows.length > 0 && rows.length <= 20}>
      <summary><strong>${identity.name}</strong> gains ${gained.length} and loses ${lost.length} of <code>${oneLine(query.query)}</code></summary>
      ${rows.length > 0 && isAny && html`<p class="note">${ARBITRARY}</p>`}
      ${rows.length > 0 && html`<div class="trial-rows"><${Table} label=${`Rows that ${identity.name} gains and loses`} columns=${after.columns} rows=${rows} marks=${marks} /></div>`}
    </details>
  `;
}

async function outcomeOf(identity: SavedIdentity, query: SavedQuery, tx: string): Promise<Outcome> {
  const as = { claims: identity.claims, roles: identity.roles };
  const [before, after] = await Promise.all([answerOf({ ...query, as }), answerOf({ ...query, as, with: tx })]);
  const had = new Set(before.rows.map((row) => JSON.stringify(row)));
  const has = new Set(after.rows.map((row) => JSON.stringify(row)));
  return {
    identity,
    query,
    after,
    gained: after.rows.filter((row) => !had.has(JSON.stringify(row))),
    lost: before.rows.filter((row) => !has.has(JSON.stringify(row))),
    isArbitrary: isArbitrary(query, before.rows) || isArbitrary(query, after.rows),
  };
}

function summary(outcomes: readonly Outcome[]): string {
  const changed = outcomes.filter(({ gained, lost }) => gained.length + lost.length > 0);
  if (changed.length === 0) return "No identity gains or loses a row of these queries.";
  return `${new Set(changed.map(({ identity }) => identity.name)).size} of ${identities.value.length} identities gain or lose rows.`;
}

function isSame(one: SavedQuery, other: SavedQuery): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
