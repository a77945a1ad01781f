/** An answer as a graph of its entities. A list beside it has the same nodes for keys and screen readers. */

import type { Json } from "@adalog/client";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { labelsOf, type Labels } from "../entity/labels.js";
import { openEntity } from "../entity/open.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { momentOf, momentVariables } from "../parts/moment.js";
import type { Answer } from "../server/answers.js";
import { ask } from "../server/client.js";
import { attributes } from "../server/database.js";
import { theme } from "../shell/theme.js";
import { draw, type Drawing } from "./drawing.js";
import { bounded, edgesWithin, elementsOf, MOST_NODES, type Edge } from "./elements.js";

const PULL = 'query ($eid: EDN!, $basis: BasisInput, $with: EDN, $as: AsInput) { pull(pattern: "[*]", eid: $eid, basis: $basis, with: $with, as: $as) }';

export function Graph({ answer }: { answer: Answer }) {
  const moment = useMemo(() => momentOf(answer), [answer]);
  const host = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing>(undefined);
  const first = useMemo(() => elementsOf(answer), [answer]);
  const [more, setMore] = useState<readonly Edge[]>([]);
  const [labels, setLabels] = useState<Labels>(new Map());
  const [error, setError] = useState<unknown>();
  const shown = useMemo(() => bounded([...first.edges, ...more], 2 * MOST_NODES), [first, more]);
  useEffect(() => setMore([]), [answer]);
  useEffect(() => {
    const gone = new AbortController();
    const lacking = shown.nodes.filter((id) => !labels.has(id));
    labelsOf(lacking, moment, gone.signal).then(
      (found) => setLabels((before) => new Map([...before, ...found])),
      (refused: unknown) => gone.signal.aborted || setError(refused),
    );
    return () => gone.abort();
  }, [shown, attributes.value]);
  const label = (id: string) => labels.get(id)?.text ?? id;
  useEffect(() => {
    if (!host.current) return undefined;
    const made = (drawing.current = draw(host.current, (id) => openEntity(id, moment)));
    return () => {
      made.remove();
      drawing.current = undefined;
    };
  }, [answer, theme.value]);
  useEffect(() => drawing.current?.show(shown, label), [shown, labels, answer, theme.value]);
  const expand = async (id: string) => {
    try {
      const { pull } = await ask<{ pull: Json }>(PULL, { eid: id, ...momentVariables(moment) });
      setMore((before) => [...before, ...edgesWithin(pull)]);
    } catch (refused) {
      setError(refused);
    }
  };
  const about = `Graph of ${shown.nodes.length} entities and ${shown.edges.length} references. The list below it has its entities.`;
  return html`
    <div class="graph">
      <${Failure} error=${error} />
      ${first.total > first.nodes.length && html`<p class="note">The first ${MOST_NODES} of ${first.total.toLocaleString()} entities are shown.</p>`}
      <div class="graph-host" ref=${host} role="img" aria-label=${about}></div>
      <details class="graph-list">
        <summary>${shown.nodes.length.toLocaleString()} entities</summary>
        <ul class="values">
          ${shown.nodes.map(
            (id) => html`
              <li key=${id} class="row">
                <button type="button" class="ref" onClick=${() => openEntity(id, moment)}>${label(id)}</button>
                <button type="button" class="quiet small" aria-label=${`Expand ${label(id)}`} onClick=${() => void expand(id)}>Expand</button>
              </li>
            `,
          )}
        </ul>
      </details>
    </div>
  `;
}
