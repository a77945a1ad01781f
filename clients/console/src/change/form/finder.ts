/** A field that finds an entity, and shows those that fit. */

import { useId, useState } from "preact/hooks";
import { Failure } from "../../parts/failure.js";
import { html } from "../../parts/html.js";
import { entitiesOf, type Found } from "./search.js";

export function Finder({ label, onChosen }: { label: string; onChosen: (found: Found) => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly Found[]>();
  const [failure, setFailure] = useState<unknown>();
  const note = useId();
  const find = async () => {
    try {
      setFailure(undefined);
      setFound(await entitiesOf(text));
    } catch (error) {
      setFound(undefined);
      setFailure(error);
    }
  };
  // Within another form Enter finds, and does not submit.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    void find();
  };
  return html`
    <div class="finder" role="search" aria-label=${label}>
      <div class="row">
        <label>${label} <input type="search" value=${text} aria-describedby=${note} onInput=${(event: Event) => setText((event.target as HTMLInputElement).value)} onKeyDown=${onKeyDown} autocomplete="off" /></label>
        <button type="button" class="quiet" onClick=${() => void find()}>Find</button>
      </div>
      <p class="note" id=${note}>An id, an ident, a lookup ref, or how a name begins.</p>
      <${Failure} error=${failure} />
      ${found && html`<p class="note" role="status">${found.length === 0 ? "Nothing is found." : `${found.length} found.`}</p>`}
      ${found &&
      html`<ul class="values">
        ${found.map((each) => html`<li key=${each.id}><button type="button" class="ref" onClick=${() => onChosen(each)}>${each.label}</button> <span class="note">${each.id}</span></li>`)}
      </ul>`}
    </div>
  `;
}
