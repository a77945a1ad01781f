/** The history of a row: what changed of the facts that it shows, or follows from. */

import type { Long } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { MomentContext, momentOf } from "../parts/moment.js";
import type { Answer, Row } from "../server/answers.js";
import { questionOf, reasonOf, type Step } from "../why/reason.js";
import { Changes } from "./changes.js";
import { historyOf, type Change } from "./history.js";
import { labelsOf, type Labels } from "./labels.js";

const MOST_ENTITIES = 8;

interface EntityHistory {
  readonly id: Long;
  readonly changes: readonly Change[];
}

export function RowHistory({ answer, row }: { answer: Answer; row: Row }) {
  const moment = momentOf(answer);
  const [found, setFound] = useState<readonly EntityHistory[]>();
  const [labels, setLabels] = useState<Labels>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    const read = async () => {
      const ids = (await entitiesOf(answer, row, stop.signal)).slice(0, MOST_ENTITIES);
      void labelsOf(ids, moment, stop.signal).then(setLabels, () => undefined);
      const all = await Promise.all(ids.map((id) => historyOf(id, moment, stop.signal)));
      setFound(ids.map((id, i) => ({ id, changes: concerned(answer.question.query, all[i] ?? []) })));
    };
    read().catch((failure: unknown) => !stop.signal.aborted && setError(failure));
    return () => stop.abort();
  }, [answer, row]);
  if (error) return html`<${Failure} error=${error} />`;
  if (found === undefined) return html`<p class="note" role="status">Loading…</p>`;
  if (found.length === 0) return html`<p class="note">The row follows from no fact of an entity.</p>`;
  return html`<${MomentContext.Provider} value=${moment}>
    <p class="note">Changes of the attributes that the query names, the newest first.</p>
    ${found.map(
      ({ id, changes }) => html`<section key=${id} aria-label=${`Entity ${id}`}>
        <h3>${labels?.get(String(id))?.text ?? `Entity ${id}`}</h3>
        <${Changes} changes=${changes} hasAttributes=${true} labels=${labels} />
      </section>`,
    )}
  <//>`;
}

/** The entities of a row; of one that shows none, those of the facts that it follows from. */
async function entitiesOf(answer: Answer, row: Row, signal: AbortSignal): Promise<readonly Long[]> {
  const shown = row.filter((_, i) => answer.columns[i]?.type === "ref") as Long[];
  if (shown.length > 0) return [...new Set(shown)];
  const reason = await reasonOf(questionOf(answer), row, signal);
  return reason.holds ? [...new Set(reason.steps.flatMap(entitiesBelow))] : [];
}

function entitiesBelow({ datom, steps = [] }: Step): readonly Long[] {
  return [...(datom ? [datom.e] : []), ...steps.flatMap(entitiesBelow)];
}

/** The changes of attributes that the query names; all of them where it names none of these. */
function concerned(query: string, changes: readonly Change[]): readonly Change[] {
  const named = changes.filter(({ attribute }) => query.split(/[\s()[\]{}]+/).includes(attribute));
  return named.length > 0 ? named : changes;
}
