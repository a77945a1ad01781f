/** The values of one attribute in a form, each with an input for its type. */

import { useId, useState } from "preact/hooks";
import { html, type Markup } from "../../parts/html.js";
import type { Attribute } from "../../server/database.js";
import type { Labels } from "../../entity/labels.js";
import type { Entry, Mistake } from "./draft.js";
import { Finder } from "./finder.js";
import { EXAMPLES } from "./values.js";

export interface FieldProperties {
  readonly attribute: Attribute;
  readonly entries: readonly Entry[];
  readonly mistakes: readonly Mistake[];
  readonly labels: Labels;
  readonly onChange: (entries: readonly Entry[]) => void;
  /** Shows a part within; undefined where a value is none. */
  readonly part: (entry: Entry) => Markup | undefined;
}

export function Field({ attribute, entries, mistakes, labels, onChange, part }: FieldProperties) {
  const { ident, valueType, cardinality, doc } = attribute;
  const isMany = cardinality === "many";
  const set = (place: number, typed: string) => onChange(entries.map((each, i) => (i === place ? { ...each, typed } : each)));
  const remove = (place: number) => onChange(isMany ? entries.filter((_, i) => i !== place) : entries.map((each) => ({ ...each, typed: "" })));
  return html`
    <fieldset class="field">
      <legend><code>${ident}</code> <span class="note">${[valueType ?? "any type", isMany ? "many" : ""].filter(Boolean).join(", ")}</span></legend>
      ${doc && html`<p class="note">${doc}</p>`}
      ${entries.map((entry, i) => {
        const shown = part(entry);
        const wrong = mistakes.find(({ place }) => place === i)?.message;
        return html`
          <div class="field-value" key=${i}>
            ${shown ?? html`<${Input} attribute=${attribute} entry=${entry} number=${isMany ? i + 1 : undefined} wrong=${wrong} label=${labels.get(entry.typed)?.text} onTyped=${(typed: string) => set(i, typed)} />`}
            ${(entry.stored !== undefined || entry.typed !== "" || (isMany && entries.length > 1)) &&
            html`<button type="button" class="quiet small" aria-label=${`Remove ${ident}${isMany ? ` ${i + 1}` : ""}`} onClick=${() => remove(i)}>Remove</button>`}
          </div>
        `;
      })}
      ${isMany &&
      !attribute.isComponent &&
      html`<button type="button" class="quiet small" onClick=${() => onChange([...entries, { stored: undefined, typed: "" }])} aria-label=${`Another value of ${ident}`}>Another value</button>`}
    </fieldset>
  `;
}

interface InputProperties {
  readonly attribute: Attribute;
  readonly entry: Entry;
  readonly number: number | undefined;
  readonly wrong: string | undefined;
  readonly label: string | undefined;
  readonly onTyped: (typed: string) => void;
}

function Input({ attribute: { ident, valueType }, entry, number, wrong, label, onTyped }: InputProperties) {
  const [isFinding, setFinding] = useState(false);
  const error = useId();
  const properties = {
    "aria-label": number === undefined ? ident : `${ident} ${number}`,
    "aria-invalid": wrong !== undefined,
    "aria-describedby": wrong === undefined ? undefined : error,
    value: entry.typed,
    onInput: (event: Event) => onTyped((event.target as HTMLInputElement).value),
  };
  const said = wrong !== undefined && html`<span class="error" id=${error} role="alert">${wrong}</span>`;
  if (valueType === "boolean") {
    return html`<select ...${properties} onChange=${properties.onInput}><option value="">no value</option><option value="true">true</option><option value="false">false</option></select>${said}`;
  }
  if (valueType === "string") {
    return html`<textarea rows=${Math.min(6, entry.typed.split("\n").length + Math.floor(entry.typed.length / 45))} spellcheck=${false} ...${properties}></textarea>${said}`;
  }
  const isNumber = ["long", "double", "float", "bigdec", "bigint"].includes(valueType ?? "");
  return html`
    <input ...${properties} inputmode=${isNumber ? "decimal" : undefined} placeholder=${EXAMPLES[valueType ?? ""] ?? "EDN"} autocomplete="off" spellcheck=${false} />
    ${said}
    ${valueType === "ref" &&
    html`
      ${label && html`<span class="note">${label}</span>`}
      <button type="button" class="quiet small" aria-expanded=${isFinding} aria-label=${`Find an entity for ${ident}`} onClick=${() => setFinding(!isFinding)}>Find</button>
      ${isFinding &&
      html`<${Finder}
        label=${`Entity for ${ident}`}
        onChosen=${({ id }: { id: string }) => {
          onTyped(id);
          setFinding(false);
        }}
      />`}
    `}
  `;
}
