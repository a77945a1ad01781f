/** The page that asks: the query and its arguments at the top, its answer below. */

import { destination } from "../editor/destination.js";
import { Editor } from "../editor/editor.js";
import { html } from "../parts/html.js";
import { MomentChoice, MomentControls } from "../time/bar.js";
import { Arguments } from "./arguments/form.js";
import { Results } from "./results.js";
import { query, run } from "./state.js";
import { builder, Toolbar } from "./toolbar.js";

const assistance = async () => (await import("./assistance.js")).assistance;

export function Ask() {
  return html`
    <h1 class="hidden">Ask</h1>
    <section class="ask" aria-label="Query">
      <${Editor} label="Query" text=${query} onRun=${run} extensions=${assistance} destination=${destination} />
      ${builder.value && html`<${builder.value} />`}
      <${Arguments} />
      <div class="row commands">
        <${Toolbar} />
        <${MomentChoice} />
      </div>
    </section>
    <${MomentControls} />
    <${Results} />
  `;
}
