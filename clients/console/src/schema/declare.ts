/** A form that declares an attribute or alters one, with the transaction that it writes. */

import { AdalogError } from "@adalog/client";
import { useEffect, useId, useState } from "preact/hooks";
import { Preview } from "../change/preview.js";
import { Trial } from "../change/trial.js";
import { Failure } from "../parts/failure.js";
import { html, type Markup } from "../parts/html.js";
import { attributes } from "../server/database.js";
import { go, place } from "../shell/route.js";
import { declarationOf, NOTHING, transactionOf, TYPES, type Declaration, type Part } from "./declaration.js";
import { isBuiltIn } from "./names.js";

export function Declare() {
  const ident = place.value.parameters.get("attribute");
  const own = attributes.value.filter((each) => !isBuiltIn(each.ident));
  return html`
    <label>
      Attribute
      <select value=${ident ?? ""} onChange=${(event: Event) => go("schema", { view: "declare", attribute: (event.target as HTMLSelectElement).value })}>
        <option value="">a new one</option>
        ${own.map((each) => html`<option key=${each.ident} value=${each.ident}>${each.ident}</option>`)}
      </select>
    </label>
    <${Form} key=${ident} ident=${ident} />
  `;
}

function Form({ ident }: { ident: string | null }) {
  const [trial] = useState(() => new Trial());
  const [before, setBefore] = useState<Declaration>();
  const [now, setNow] = useState<Declaration>(NOTHING);
  const [failure, setFailure] = useState<unknown>();
  const committed = trial.committed.value;
  useEffect(() => {
    if (ident === null) return;
    declarationOf(ident).then((found) => {
      setBefore(found);
      setNow(found);
    }, setFailure);
  }, [ident, committed]);
  const { text, lines } = transactionOf(now, before);
  const set = <Name extends Part>(part: Name, value: Declaration[Name]) => {
    const next = { ...now, [part]: value };
    setNow(next);
    trial.text.value = transactionOf(next, before).text;
  };
  const submit = (event: Event) => {
    event.preventDefault();
    trial.text.value = text;
    void trial.dryRun();
  };
  if (ident !== null && before === undefined) return failure ? html`<${Failure} error=${failure} />` : html`<p class="note" role="status">Loading…</p>`;
  const error = trial.failure.value;
  const wrong = error instanceof AdalogError && error.line !== undefined && trial.refused.value === text ? { part: lines[error.line - 1], message: error.message } : undefined;
  const field = { now, set, wrong };
  return html`
    <form class="declare stack" aria-label=${ident === null ? "A new attribute" : `Alter ${ident}`} onSubmit=${submit}>
      <div class="fields">
        <${Field} ...${field} part="ident" label="Ident" input=${(given: Given) => html`<input ...${given} required pattern=":.+" placeholder=":person/name" disabled=${ident !== null} autocomplete="off" spellcheck=${false} />`} />
        <${Field} ...${field} part="valueType" label="Type" input=${(given: Given) => choice(given, now.valueType, ["", ...TYPES], "the first value decides")} />
        <${Field} ...${field} part="cardinality" label="Cardinality" input=${(given: Given) => choice(given, now.cardinality, ["one", "many"])} />
        <${Field} ...${field} part="unique" label="Unique" input=${(given: Given) => choice(given, now.unique, ["", "identity", "value"], "no")} />
        <${Field} ...${field} part="doc" label="Documentation" input=${(given: Given) => html`<textarea ...${given} rows="2"></textarea>`} />
        <${Field} ...${field} part="retainDays" label="Past is kept for days" input=${(given: Given) => limit(given, "no limit of its own")} />
        <${Field} ...${field} part="retainTransactions" label="Past is kept for transactions" input=${(given: Given) => limit(given, "no limit of its own")} />
        ${now.valueType === "tuple" &&
        html`
          <${Field} ...${field} part="tupleAttrs" label="Attributes of the tuple" input=${(given: Given) => html`<input ...${given} placeholder="[:order/year :order/number]" />`} />
          <${Field} ...${field} part="tupleTypes" label="Types of the tuple" input=${(given: Given) => html`<input ...${given} placeholder="[:db.type/long :db.type/string]" />`} />
        `}
      </div>
      <div class="row">
        <${Flag} ...${field} part="component" label="Component: what it refers to is a part" />
        <${Flag} ...${field} part="index" label="Index" />
        <${Flag} ...${field} part="noHistory" label="Without history" />
        <${Flag} ...${field} part="retainAll" label="Past is kept, whatever :db/retention says" />
      </div>
      <pre class="wrapped code" tabindex="0" role="region" aria-label="Transaction"><code>${text}</code></pre>
      <div class="row"><button type="submit">Dry run</button></div>
    </form>
    <${Preview} trial=${trial} />
  `;
}

interface Given {
  readonly onInput: (event: Event) => void;
}

interface FieldProperties {
  readonly part: Part;
  readonly label: string;
  readonly now: Declaration;
  readonly set: (part: Part, value: any) => void;
  readonly wrong: { readonly part: Part | undefined; readonly message: string } | undefined;
}

function Field({ part, label, now, set, wrong, input }: FieldProperties & { readonly input: (given: Given) => Markup }) {
  const id = useId();
  const message = wrong?.part === part ? wrong.message : undefined;
  const given = {
    id,
    value: now[part],
    "aria-invalid": message !== undefined,
    "aria-describedby": message === undefined ? undefined : `${id}-error`,
    onInput: (event: Event) => set(part, (event.target as HTMLInputElement).value),
  };
  return html`
    <div class="declared">
      <label for=${id}>${label}</label>
      ${input(given)}
      ${message !== undefined && html`<span class="error" id=${`${id}-error`}>${message}</span>`}
    </div>
  `;
}

function Flag({ part, label, now, set, wrong }: FieldProperties) {
  return html`
    <label><input type="checkbox" checked=${now[part] === true} onChange=${(event: Event) => set(part, (event.target as HTMLInputElement).checked)} /> ${label}</label>
    ${wrong?.part === part && html`<span class="error">${wrong.message}</span>`}
  `;
}

/** A number of which nothing is said as long as it is empty. */
function limit(given: Given, placeholder: string): Markup {
  return html`<input ...${given} type="number" min="1" step="1" placeholder=${placeholder} autocomplete="off" />`;
}

function choice(given: Given, value: string, options: readonly string[], empty = ""): Markup {
  return html`<select ...${given} onChange=${given.onInput}>${options.map((each) => html`<option key=${each} value=${each} selected=${each === value}>${each || empty}</option>`)}</select>`;
}
