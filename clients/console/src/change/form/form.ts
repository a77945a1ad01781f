/** A form for one entity: found or new, with its parts; what it changes is tried before it is committed. */

import { useEffect, useState } from "preact/hooks";
import { Failure } from "../../parts/failure.js";
import { html } from "../../parts/html.js";
import { namespaces } from "../../schema/names.js";
import { attributes } from "../../server/database.js";
import { go, place } from "../../shell/route.js";
import { AsIdentity } from "../identity.js";
import { Preview } from "../preview.js";
import { Trial } from "../trial.js";
import { loaded, newNode, transactionOf, type Draft, type Mistake } from "./draft.js";
import { Finder } from "./finder.js";
import { NodeFields } from "./node.js";

const NEW = '"new"';

export function EntityForm() {
  const entity = place.value.parameters.get("entity");
  const namespace = place.value.parameters.get("new");
  const isKnown = attributes.value.length > 0;
  return html`
    <div class="choice">
      <${Finder} label="Entity" onChosen=${({ id }: { id: string }) => go("change", { way: "entity", entity: id })} />
      <label>
        New of
        <select value=${namespace ?? ""} onChange=${(event: Event) => go("change", { way: "entity", new: (event.target as HTMLSelectElement).value })}>
          <option value="">choose a namespace</option>
          ${namespaces().map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
        </select>
      </label>
    </div>
    ${isKnown && (entity !== null || namespace !== null) && html`<${Fields} key=${`${entity} ${namespace}`} entity=${entity} namespace=${namespace ?? ""} />`}
  `;
}

function Fields({ entity, namespace }: { entity: string | null; namespace: string }) {
  const [trial] = useState(() => new Trial());
  const [before, setBefore] = useState<Draft>();
  const [draft, setDraft] = useState<Draft | undefined>(() => (entity === null ? [newNode(NEW, namespace)] : undefined));
  const [failure, setFailure] = useState<unknown>();
  const [mistakes, setMistakes] = useState<readonly Mistake[]>([]);
  const committed = trial.committed.value;
  useEffect(() => {
    if (entity === null) return;
    let isWanted = true;
    loaded(entity).then((found) => {
      if (!isWanted) return;
      setBefore(found);
      setDraft(found);
      setFailure(found ? undefined : new Error(`There is nothing of entity ${entity}, or nothing that you may see.`));
    }, setFailure);
    return () => {
      isWanted = false;
    };
  }, [entity, committed]);
  if (draft === undefined) {
    return html`${failure ? html`<${Failure} error=${failure} />` : html`<p class="note" role="status">Loading…</p>`}<${Preview} trial=${trial} />`;
  }
  const id = draft[0]?.id ?? NEW;
  const dryRun = (event: Event) => {
    event.preventDefault();
    const { text, mistakes: wrong } = transactionOf(draft, before);
    setMistakes(wrong);
    if (wrong.length > 0) return;
    trial.text.value = text;
    void trial.dryRun();
  };
  const retract = () => {
    trial.text.value = `[[:db/retractEntity ${id}]]`;
    void trial.dryRun();
  };
  const change = (now: Draft) => {
    setDraft(now);
    setMistakes([]);
    // What was tried is not what is written any more.
    trial.text.value = transactionOf(now, before).text;
  };
  return html`
    <form class="entity-form stack" aria-label=${entity === null ? `New ${namespace}` : `Entity ${id}`} onSubmit=${dryRun}>
      <h2>${entity === null ? `A new entity of ${namespace}` : `Entity ${id}`}</h2>
      <${NodeFields} draft=${draft} id=${id} mistakes=${mistakes} onChange=${change} withParts=${true} />
      <div class="row">
        <button type="submit">Dry run</button>
        ${entity !== null && html`<button type="button" class="quiet" onClick=${retract}>Retract the entity</button>`}
        <button type="button" class="quiet" onClick=${() => go("change", { tx: transactionOf(draft, before).text })}>Edit as a transaction</button>
      </div>
    </form>
    <${AsIdentity} trial=${trial} />
    <${Preview} trial=${trial} />
  `;
}
