/** The builder, for those who know no Datalog: it writes the query into the editor, and shows the typed GraphQL for the same. */

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { html } from "../../parts/html.js";
import { attribute, attributes } from "../../server/database.js";
import { ValueField } from "../arguments/controls.js";
import { query } from "../state.js";
import { datalogOf } from "./datalog.js";
import { graphqlOf, type TypedType, typedType } from "./graphql.js";
import { attributesOf, begin, type Choice, type Condition, nameOf, operatorsOf, typesOf } from "./model.js";

const choice = signal<Choice | undefined>(undefined);

function change(now: Choice): void {
  choice.value = now;
  query.value = datalogOf(now, attributes.value);
}

const chosen = (event: Event): string => (event.target as HTMLInputElement | HTMLSelectElement).value;

export function Builder() {
  const now = choice.value;
  const types = typesOf(attributes.value);
  return html`
    <section class="builder" aria-label="Builder">
      <label>Find every <select aria-label="Type" value=${now?.type ?? ""} onChange=${(event: Event) => change(begin(chosen(event), attributes.value))}>
        ${!now && html`<option value="">choose a type</option>`}
        ${types.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
      </select></label>
      ${now && html`<${Conditions} now=${now} /><${Columns} now=${now} /><${Order} now=${now} /><${Typed} now=${now} />`}
    </section>
  `;
}

function Conditions({ now }: { now: Choice }) {
  const own = attributesOf(now.type, attributes.value);
  const set = (i: number, more: Partial<Condition>) => change({ ...now, conditions: now.conditions.map((each, j) => (j === i ? { ...each, ...more } : each)) });
  const add = () => change({ ...now, conditions: [...now.conditions, { attribute: own[0]?.ident ?? "", operator: "is", value: "" }] });
  return html`
    <fieldset>
      <legend>where
        <select aria-label="How many conditions hold" value=${now.match} onChange=${(event: Event) => change({ ...now, match: chosen(event) === "any" ? "any" : "all" })}>
          <option value="all">all conditions hold</option>
          <option value="any">any condition holds</option>
        </select>
      </legend>
      ${now.conditions.map((each, i) => {
        const known = attribute(each.attribute);
        const operators = operatorsOf(known);
        const takesValue = operators.find(({ name }) => name === each.operator)?.takesValue ?? true;
        return html`<div class="row condition" key=${i} role="group" aria-label=${`Condition ${i + 1}`}>
          <select aria-label="Attribute" value=${each.attribute} onChange=${(event: Event) => set(i, { attribute: chosen(event), operator: "is", value: "" })}>
            ${own.map(({ ident }) => html`<option key=${ident} value=${ident}>${nameOf(ident)}</option>`)}
          </select>
          <select aria-label="Operator" value=${each.operator} onChange=${(event: Event) => set(i, { operator: chosen(event) })}>
            ${operators.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}
          </select>
          ${takesValue && html`<${ValueField} label="Value" type=${known?.valueType ?? undefined} text=${each.value} onChange=${(value: string) => set(i, { value })} />`}
          <button type="button" class="quiet small" aria-label=${`Remove condition ${i + 1}`} onClick=${() => change({ ...now, conditions: now.conditions.filter((_, j) => j !== i) })}>✕</button>
        </div>`;
      })}
      <button type="button" class="quiet small" onClick=${add}>Add a condition</button>
    </fieldset>
  `;
}

function Columns({ now }: { now: Choice }) {
  const toggle = (ident: string) => {
    const columns = now.columns.includes(ident) ? now.columns.filter((each) => each !== ident) : [...now.columns, ident];
    change({ ...now, columns });
  };
  return html`
    <fieldset>
      <legend>show</legend>
      <div class="row">
        ${attributesOf(now.type, attributes.value).map(
          ({ ident, doc }) => html`<label key=${ident} title=${doc ?? ""}><input type="checkbox" checked=${now.columns.includes(ident)} onChange=${() => toggle(ident)} /> ${nameOf(ident)}</label>`,
        )}
      </div>
    </fieldset>
  `;
}

function Order({ now }: { now: Choice }) {
  return html`
    <div class="row">
      <label>ordered by <select value=${now.order} onChange=${(event: Event) => change({ ...now, order: chosen(event) })}>
        <option value="">nothing</option>
        ${attributesOf(now.type, attributes.value).map(({ ident }) => html`<option key=${ident} value=${ident}>${nameOf(ident)}</option>`)}
      </select></label>
      <label><input type="checkbox" checked=${now.isDescending} onChange=${() => change({ ...now, isDescending: !now.isDescending })} /> descending</label>
      <label>at most <input type="number" min="1" max="100000" value=${now.limit} onChange=${(event: Event) => change({ ...now, limit: Math.max(1, Math.round(Number(chosen(event))) || 100) })} /> rows</label>
    </div>
  `;
}

/** The same as typed GraphQL, with a link that opens it in GraphiQL. */
function Typed({ now }: { now: Choice }) {
  const [found, setFound] = useState<{ readonly type: string; readonly typed: TypedType | undefined }>();
  useEffect(() => {
    let isWanted = true;
    const keep = (typed: TypedType | undefined) => {
      if (isWanted) setFound({ type: now.type, typed });
    };
    typedType(now.type).then(keep, () => keep(undefined));
    return () => void (isWanted = false);
  }, [now.type]);
  if (found?.type !== now.type) return null;
  const text = found.typed && graphqlOf(now, attributes.value, found.typed);
  if (!text) return html`<p class="note">Typed GraphQL cannot say this.</p>`;
  return html`
    <details>
      <summary>The same in typed GraphQL</summary>
      <pre class="typed-graphql"><code>${text}</code></pre>
      <a href=${`graphql?query=${encodeURIComponent(text)}`}>Open in GraphiQL</a>
    </details>
  `;
}
