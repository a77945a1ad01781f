/** The editor for transactions. */

import type { Extension } from "@codemirror/state";
import { useEffect } from "preact/hooks";
import { Editor } from "../editor/editor.js";
import { html } from "../parts/html.js";
import { place } from "../shell/route.js";
import { AsIdentity } from "./identity.js";
import { Preview } from "./preview.js";
import { Trial } from "./trial.js";

export const written = new Trial();
written.text.value = "[]";

const extensions = async (): Promise<Extension> => (await import("./underlining.js")).underlining(written);
const dryRun = () => void written.dryRun();

export function TransactionEditor() {
  const given = place.value.parameters.get("tx");
  useEffect(() => {
    if (given !== null && given !== written.text.peek()) written.write(given);
  }, [given]);
  return html`
    <section class="ask" aria-label="Transaction">
      <${Editor} label="Transaction" text=${written.text} onRun=${dryRun} extensions=${extensions} />
      <${Values} />
      <${AsIdentity} trial=${written} />
      <div class="row">
        <button type="button" onClick=${dryRun} title="Ctrl-Enter">Dry run</button>
        <span class="note">EDN: maps and lists, as <code>[[:db/add 1 :person/name "Ada"]]</code>. <code>?name</code> gets a field for its value.</span>
      </div>
    </section>
    <${Preview} trial=${written} />
  `;
}

function Values() {
  const names = written.variables.value;
  if (names.length === 0) return null;
  const set = (name: string) => (event: Event) => {
    written.values.value = { ...written.values.value, [name]: (event.target as HTMLInputElement).value };
  };
  const submit = (event: Event) => {
    event.preventDefault();
    dryRun();
  };
  return html`
    <form class="arguments" aria-label="Values" onSubmit=${submit}>
      ${names.map(
        (name) =>
          html`<label key=${name}><code>?${name}</code> <input name=${`value-${name}`} value=${written.values.value[name] ?? ""} onInput=${set(name)} placeholder="JSON or text" /></label>`,
      )}
      <button type="submit" class="hidden">Dry run with these values</button>
    </form>
  `;
}
