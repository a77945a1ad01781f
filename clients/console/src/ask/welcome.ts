/** What stands in the place of the answer before anything was asked: where to begin with this database. */

import { html } from "../parts/html.js";
import { attributes, database } from "../server/database.js";
import { datalogOf } from "./builder/datalog.js";
import { anchorOf, attributesOf, begin, typesOf } from "./builder/model.js";
import { entries } from "./history/entries.js";
import { args, query, restore, run } from "./state.js";

const MOST_TYPES = 24;
const MOST_ENTRIES = 3;

export function Welcome() {
  return html`
    <div class="welcome">
      <${Types} />
      <${Recent} />
      <section>
        <h2>Keys</h2>
        <dl class="keys">
          <dt><kbd>Ctrl</kbd> <kbd>Enter</kbd></dt>
          <dd>runs the query</dd>
          <dt><kbd>Ctrl</kbd> <kbd>Space</kbd></dt>
          <dd>completes attributes, variables, rules and built-ins</dd>
        </dl>
        <p class="note">No Datalog yet? <em>Builder</em> writes it. <a href="docs/tutorials/first-steps/">Learn it</a>, or look up its <a href="docs/reference/queries/">reference</a>.</p>
      </section>
    </div>
  `;
}

/** A query for each type of the data. */
function Types() {
  if (database.value === undefined) return null;
  const types = typesOf(attributes.value);
  const show = (type: string) => {
    query.value = datalogOf(begin(type, attributes.value), attributes.value);
    args.value = [];
    void run();
  };
  return html`
    <section>
      <h2>Look at</h2>
      <p class="note">${Number(database.value.datomCount).toLocaleString()} datoms of ${Number(database.value.entityCount).toLocaleString()} entities, at t ${database.value.basisT}</p>
      ${types.length === 0
        ? html`<p>There is no attribute of your own yet. <a href="#/schema?view=declare">Declare one</a>, or <a href="#/change">write a transaction</a>.</p>`
        : html`<ul class="types">
            ${types.slice(0, MOST_TYPES).map((type) => {
              const count = anchorOf(attributesOf(type, attributes.value))?.datomCount;
              return html`<li key=${type}>
                <button type="button" class="quiet" onClick=${() => show(type)}>${type}${count !== undefined && html` <span class="quiet-text">${Number(count).toLocaleString()}</span>`}</button>
              </li>`;
            })}
          </ul>`}
      ${types.length > MOST_TYPES && html`<p class="note">and ${types.length - MOST_TYPES} more in <a href="#/schema">Schema</a></p>`}
    </section>
  `;
}

function Recent() {
  const recent = entries.value.slice(0, MOST_ENTRIES);
  if (recent.length === 0) return null;
  return html`
    <section>
      <h2>Asked lately</h2>
      <ul class="history">
        ${recent.map((each, i) => html`<li key=${i}><button type="button" class="quiet history-entry" onClick=${() => restore(each)}><code>${each.query}</code></button></li>`)}
      </ul>
    </section>
  `;
}
