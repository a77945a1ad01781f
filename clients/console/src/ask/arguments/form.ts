/** The arguments of the query: a field for each input of `:in`, of the type and the shape that it has there. */

import { html } from "../../parts/html.js";
import { args, argumentFields, argumentProblems, run, showsProblems } from "../state.js";
import { ValueField } from "./controls.js";
import type { Field } from "./fields.js";
import { RowsField } from "./rows.js";
import { RulesField } from "./rules.js";
import { SourceField } from "./source.js";

// One for each place, so that fields see the same function each time.
const setters: ((text: string) => void)[] = [];

function setter(i: number): (text: string) => void {
  return (setters[i] ??= (text) => {
    if ((args.peek()[i] ?? "") !== text) args.value = argumentFields.peek().map((_, j) => (j === i ? text : (args.peek()[j] ?? "")));
  });
}

export function Arguments() {
  const fields = argumentFields.value;
  if (fields.length === 0) return null;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void run();
  };
  return html`
    <form class="arguments" aria-label="Arguments" onSubmit=${submit} noValidate>
      ${fields.map((field, i) => html`<${Argument} key=${`${i} ${field.kind} ${field.text}`} field=${field} i=${i} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `;
}

function Argument({ field, i }: { field: Field; i: number }) {
  const text = args.value[i] ?? "";
  const message = showsProblems.value ? argumentProblems.value[i] : undefined;
  const id = `argument-problem-${i}`;
  const problem = message ? id : undefined;
  const [only] = field.places;
  const properties = { field, text, onChange: setter(i), problem, onRun: () => void run() };
  return html`
    <fieldset class=${`argument argument-${field.kind}`}>
      <legend><code>${field.text}</code>${field.places.length === 1 && only?.type ? html` <span class="note">${only.type === "instant" ? "instant, UTC" : only.type}</span>` : null}</legend>
      ${field.kind === "scalar"
        ? html`<${ValueField} label=${field.text} type=${only?.type} text=${text} onChange=${setter(i)} problem=${problem} name=${`argument-${i}`} />`
        : field.kind === "rules"
          ? html`<${RulesField} ...${properties} />`
          : field.kind === "source"
            ? html`<${SourceField} ...${properties} />`
            : html`<${RowsField} ...${properties} />`}
      ${message && html`<p class="argument-problem" id=${id}>${message}</p>`}
    </fieldset>
  `;
}
