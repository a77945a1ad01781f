/** An entity: its attributes with their types, their history, and the entities that refer to it. */

import type { Json, Long } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { useKeptFocus } from "../parts/focus.js";
import { html } from "../parts/html.js";
import { MomentContext, momentVariables, type Moment } from "../parts/moment.js";
import { ZoneButton } from "../parts/time.js";
import { Value } from "../parts/value.js";
import { ask } from "../server/client.js";
import { attribute, attributes } from "../server/database.js";
import { hashOf } from "../shell/route.js";
import { Changes } from "./changes.js";
import { historyOf, type Change } from "./history.js";
import { labelOf, labelsOf, type Labels, type Pulled } from "./labels.js";
import { Referrers } from "./referrers.js";

const ID = ":db/id";
const DOCUMENT =
  'query ($eid: EDN!, $basis: BasisInput, $with: EDN, $as: AsInput) { pull(pattern: "[*]", eid: $eid, basis: $basis, with: $with, as: $as) }';

/** `id`: a number, or an EDN text that names the entity, as `[:package/name "bash"]`. */
export function Entity({ id, moment }: { id: number | string; moment: Moment }) {
  const [pulled, setPulled] = useState<Pulled | null>();
  const [labels, setLabels] = useState<Labels>(new Map());
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const gone = new AbortController();
    setPulled(undefined);
    setError(undefined);
    const load = async () => {
      const { pull } = await ask<{ pull: Pulled | null }>(DOCUMENT, { eid: String(id), ...momentVariables(moment) }, gone.signal);
      setPulled(pull);
      if (pull) setLabels(await labelsOf(refsIn(pull), moment, gone.signal));
    };
    load().catch((refused: unknown) => gone.signal.aborted || setError(refused));
    return () => gone.abort();
    // The attributes say which of them names an entity.
  }, [id, JSON.stringify(moment), attributes.value]);
  const number = pulled?.[ID] as Long | undefined;
  const changes = useChanges(number, moment);
  if (error) return html`<${Failure} error=${error} />`;
  if (pulled === undefined) return html`<p class="note" role="status">Loading…</p>`;
  if (pulled === null || number === undefined) return html`<p class="note">This entity has no attributes that may be read.</p>`;
  const label = labelOf(pulled);
  return html`
    <${MomentContext.Provider} value=${moment}>
      <div class="entity">
        <h3 class="entity-name">${label?.text ?? `Entity ${number}`}</h3>
        <p class="row note">
          <a href=${addressOf(number, moment)}>Link to entity ${number}</a>
          <button type="button" class="quiet small" aria-pressed=${changes.isShown} onClick=${changes.toggle}>History</button>
          <${ZoneButton} />
        </p>
        <${Failure} error=${changes.error} />
        ${Object.keys(pulled).length <= 1 && html`<p class="note">It has no attributes at this moment.</p>`}
        <${Attributes} pulled=${pulled} labels=${labels} changes=${changes.isShown ? changes.all : undefined} />
        <${Referrers} key=${number} id=${number} moment=${moment} />
      </div>
    <//>
  `;
}

/** The address of an entity at a moment. */
function addressOf(id: Long, { basis, as }: Moment): string {
  return hashOf("entity", { id: String(id), basis: basis && JSON.stringify(basis), as: as && JSON.stringify(as) });
}

function useChanges(id: Long | undefined, moment: Moment) {
  const [isShown, setShown] = useState(false);
  const [all, setAll] = useState<readonly Change[]>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    setAll(undefined);
    setError(undefined);
    if (isShown && id !== undefined) historyOf(id, moment).then(setAll, setError);
  }, [id, isShown]);
  return { isShown, all, error, toggle: () => setShown(!isShown) };
}

interface AttributesProperties {
  readonly pulled: Pulled;
  readonly labels: Labels;
  readonly changes?: readonly Change[] | undefined;
}

function Attributes({ pulled, labels, changes }: AttributesProperties) {
  const gone = [...new Set(changes?.map((each) => each.attribute) ?? [])].filter((name) => !(name in pulled));
  const names = [...Object.keys(pulled).filter((name) => name !== ID), ...gone];
  return html`<dl class="attributes">
    ${names.map((name) => {
      const { valueType, cardinality, doc } = attribute(name) ?? {};
      const about = [valueType, cardinality === "many" ? "many" : undefined].filter(Boolean).join(", ");
      return html`
        <div key=${name} class="attribute">
          <dt title=${doc ?? undefined}><code>${name}</code> <span class="quiet-text">${about}</span></dt>
          <dd>
            ${name in pulled ? html`<${Values} name=${name} value=${pulled[name] ?? null} labels=${labels} />` : html`<span class="nil">no value now</span>`}
            ${changes && html`<${Changes} changes=${changes.filter((each) => each.attribute === name)} labels=${labels} />`}
          </dd>
        </div>
      `;
    })}
  </dl>`;
}

const SHOWN = 20;

function Values({ name, value, labels }: { name: string; value: Json; labels: Labels }) {
  const [isWhole, setWhole] = useState(false);
  const values = useKeptFocus<HTMLDivElement>();
  const known = attribute(name);
  const type = known?.valueType ?? undefined;
  const all = Array.isArray(value) && (known?.cardinality === "many" || type !== "tuple") ? value : [value];
  return html`
    <div ref=${values} tabindex="-1" role="group" aria-label=${`Values of ${name}`}>
      <ul class="values">
        ${(isWhole ? all : all.slice(0, SHOWN)).map((each, i) => html`<li key=${i}><${One} value=${each} type=${type} labels=${labels} /></li>`)}
      </ul>
      ${all.length > SHOWN && !isWhole && html`<button type="button" class="quiet small" onClick=${() => setWhole(true)}>All ${all.length}</button>`}
    </div>
  `;
}

function One({ value, type, labels }: { value: Json; type: string | undefined; labels: Labels }) {
  if (!isEntity(value)) return html`<${Value} value=${value} type=${type} />`;
  const label = labels.get(String(value[ID])) ?? labelOf(value);
  const ref = html`<span class=${label?.isIdent ? "chip" : undefined}><${Value} value=${value[ID]} type="ref" label=${label?.text} /></span>`;
  // A component is shown whole.
  return Object.keys(value).length > 1 ? html`<div class="component">${ref}<${Attributes} pulled=${value} labels=${labels} /></div>` : ref;
}

function isEntity(value: Json): value is { ":db/id": Long } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && ID in value;
}

function refsIn(value: Json | Pulled): Long[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(refsIn);
  return Object.entries(value as Pulled).flatMap(([name, each]) => (name === ID ? [each as Long] : refsIn(each)));
}
