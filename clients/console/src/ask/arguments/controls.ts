/** Fields of one value, by the type that is expected: what is typed, and the EDN text of it. */

import { html, type Markup } from "../../parts/html.js";
import { attributes } from "../../server/database.js";
import { ednOf, itemsIn, NOTHING, typedOf, vectorOf } from "./edn.js";

export interface ValueProperties {
  /** For screen readers. */
  readonly label: string;
  readonly type: string | undefined;
  /** EDN; may be empty. */
  readonly text: string;
  readonly onChange: (text: string) => void;
  /** The id of the message that says what is wrong, if something is. */
  readonly problem?: string | undefined;
  readonly name?: string;
}

const INPUTS: Readonly<Record<string, Record<string, unknown>>> = {
  instant: { type: "datetime-local", step: 1 },
  long: { type: "text", inputmode: "numeric", placeholder: "number" },
  double: { type: "text", inputmode: "decimal", placeholder: "number" },
  keyword: { type: "text", placeholder: ":keyword", spellcheck: false },
  uuid: { type: "text", placeholder: "uuid", spellcheck: false },
  string: { type: "text", placeholder: "text" },
};

export function ValueField(properties: ValueProperties): Markup {
  const { label, type, text, onChange, problem, name } = properties;
  const common = { "aria-label": label, "aria-invalid": problem ? "true" : undefined, "aria-describedby": problem, name };
  const valueOf = (event: Event) => (event.target as HTMLInputElement).value;
  if (type === "ref") return html`<${RefField} ...${properties} />`;
  const typed = typedOf(text, type);
  if (type === "boolean" && typed !== undefined) {
    return html`<select ...${common} value=${typed} onChange=${(event: Event) => onChange(valueOf(event))}>
      <option value="">choose</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>`;
  }
  const input = typed === undefined ? undefined : INPUTS[type ?? ""];
  // A text that is not of the type stays as it is, to be corrected.
  if (input === undefined) {
    return html`<input ...${common} value=${text === NOTHING ? "" : text} placeholder="EDN" spellcheck=${false} class="mono" onInput=${(event: Event) => onChange(valueOf(event))} />`;
  }
  return html`<input ...${common} ...${input} value=${typed} onInput=${(event: Event) => onChange(ednOf(valueOf(event), type))} />`;
}

/** An entity: by the value of a unique attribute, or as EDN, which may be its number or ident. */
function RefField({ label, text, onChange, problem, name }: ValueProperties): Markup {
  const unique = attributes.value.filter((each) => each.unique !== null && !/^:(db|graphql|policy)[./]/.test(each.ident));
  const [attribute, value = "", ...more] = itemsIn(text) ?? [];
  const by = more.length === 0 ? unique.find((each) => each.ident === attribute) : undefined;
  const choose = (event: Event) => {
    const chosen = (event.target as HTMLSelectElement).value;
    onChange(chosen === "" ? "" : vectorOf([chosen, ""]));
  };
  const set = (given: string) => onChange(by ? vectorOf([by.ident, given]) : given);
  return html`<span class="lookup">
    <select aria-label=${`${label}: which attribute names it`} value=${by?.ident ?? ""} onChange=${choose}>
      <option value="">id, ident</option>
      ${unique.map(({ ident }) => html`<option key=${ident} value=${ident}>${ident}</option>`)}
    </select>
    <${ValueField} label=${label} type=${by?.valueType ?? undefined} text=${by ? value : text} onChange=${set} problem=${problem} name=${name} />
  </span>`;
}
