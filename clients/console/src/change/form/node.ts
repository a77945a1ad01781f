/** The fields of one entity of a draft, and within them those of its parts. */

import { html, type Markup } from "../../parts/html.js";
import { attribute, type Attribute } from "../../server/database.js";
import { isBuiltIn, namespaces } from "../../schema/names.js";
import { useLabels } from "../labels.js";
import { furtherAttributes, withEntries, withPart, type Draft, type Entry, type Mistake } from "./draft.js";
import { Field } from "./field.js";

export interface NodeProperties {
  readonly draft: Draft;
  readonly id: string;
  readonly mistakes: readonly Mistake[];
  readonly onChange: (draft: Draft) => void;
  /** Parts are shown one level deep. */
  readonly withParts: boolean;
}

export function NodeFields({ draft, id, mistakes, onChange, withParts }: NodeProperties) {
  const node = draft.find((each) => each.id === id);
  const fields = Object.entries(node?.fields ?? {}).flatMap(([ident, entries]) => {
    const known = attribute(ident);
    return known && (!isBuiltIn(ident) || entries.some(({ stored }) => stored !== undefined)) ? [{ known, entries }] : [];
  });
  const refs = fields.flatMap(({ known, entries }) => (known.valueType === "ref" ? entries.map(({ typed }) => typed).filter((typed) => /^\d+$/.test(typed)) : []));
  const labels = useLabels(refs);
  if (node === undefined) return null;
  const partOf = ({ typed }: Entry): Markup | undefined =>
    withParts && typed !== "" && draft.some((each) => each !== draft[0] && each.id === typed)
      ? html`<div class="part"><h3>Part ${typed}</h3><${NodeFields} draft=${draft} id=${typed} mistakes=${mistakes} onChange=${onChange} withParts=${false} /></div>`
      : undefined;
  return html`
    <div class="fields">
      ${fields.map(
        ({ known, entries }) => html`
          <div key=${known.ident}>
            <${Field}
              attribute=${known}
              entries=${entries}
              labels=${labels}
              mistakes=${mistakes.filter((each) => each.id === id && each.ident === known.ident)}
              onChange=${(now: readonly Entry[]) => onChange(withEntries(draft, id, known.ident, now))}
              part=${known.isComponent ? partOf : () => undefined}
            />
            ${withParts && known.isComponent && html`<${NewPart} attribute=${known} onChosen=${(namespace: string) => onChange(withPart(draft, id, known.ident, namespace))} />`}
          </div>
        `,
      )}
    </div>
    <${Further} attributes=${furtherAttributes(node)} onChosen=${(ident: string) => onChange(withEntries(draft, id, ident, [{ stored: undefined, typed: "" }]))} />
  `;
}

function NewPart({ attribute: { ident }, onChosen }: { attribute: Attribute; onChosen: (namespace: string) => void }) {
  return html`<label class="note">
    New part of ${ident}
    <select value="" onChange=${(event: Event) => onChosen((event.target as HTMLSelectElement).value)}>
      <option value="">choose a namespace</option>
      ${namespaces().map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
    </select>
  </label>`;
}

function Further({ attributes, onChosen }: { attributes: readonly Attribute[]; onChosen: (ident: string) => void }) {
  if (attributes.length === 0) return null;
  return html`<label class="note">
    Another attribute
    <select value="" onChange=${(event: Event) => onChosen((event.target as HTMLSelectElement).value)}>
      <option value="">choose</option>
      ${attributes.map(({ ident }) => html`<option key=${ident} value=${ident}>${ident}</option>`)}
    </select>
  </label>`;
}
