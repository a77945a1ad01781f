/** The page that asks: the query and its arguments at the top, its answer below. */

import { Editor } from "../editor/editor.js";
import { html } from "../parts/html.js";
import { Arguments } from "./arguments.js";
import { Results } from "./results.js";
import { cancel, isRunning, query, run } from "./state.js";

const assistance = async () => (await import("./assistance.js")).assistance;

export function Ask() {
  return html`
    <section class="ask" aria-label="Query">
      <${Editor} label="Query" text=${query} onRun=${run} extensions=${assistance} />
      <${Arguments} />
      <div class="row">
        <button type="button" onClick=${() => void run()} title="Ctrl-Enter">Run</button>
        ${isRunning.value && html`<button type="button" class="quiet" onClick=${cancel}>Cancel</button>`}
      </div>
    </section>
    <${Results} />
  `;
}
