/** The arguments of the query, a field for each input of `:in`. */

import { html } from "../parts/html.js";
import { args, inputs, run } from "./state.js";

export function Arguments() {
  const all = inputs.value;
  if (all.length === 0) return null;
  const set = (i: number) => (event: Event) => {
    const text = (event.target as HTMLInputElement).value;
    args.value = all.map((_, j) => (j === i ? text : (args.value[j] ?? "")));
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void run();
  };
  return html`
    <form class="arguments" aria-label="Arguments" onSubmit=${submit}>
      ${all.map(
        ({ text }, i) =>
          html`<label key=${i}><code>${text}</code> <input name=${`argument-${i}`} value=${args.value[i] ?? ""} onInput=${set(i)} placeholder="EDN" /></label>`,
      )}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `;
}
