/** Declarations for GraphQL that the data suggest: read, edited, tried, and committed. */

import type { Extension } from "@codemirror/state";
import { useState } from "preact/hooks";
import { Preview } from "../change/preview.js";
import { Trial } from "../change/trial.js";
import { Editor } from "../editor/editor.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { ask } from "../server/client.js";

const proposed = new Trial();
const extensions = async (): Promise<Extension> => (await import("../change/underlining.js")).underlining(proposed);
const dryRun = () => void proposed.dryRun();

export function Proposals() {
  const [failure, setFailure] = useState<unknown>();
  const [isReading, setReading] = useState(false);
  const read = async () => {
    setReading(true);
    setFailure(undefined);
    try {
      proposed.write((await ask<{ schemaProposal: string }>("{ schemaProposal }")).schemaProposal);
    } catch (error) {
      setFailure(error);
    } finally {
      setReading(false);
    }
  };
  return html`
    <p class="note">
      Typed GraphQL follows declarations as <code>:graphql/type</code>. What the data suggest is written here as a transaction, for you to read and
      edit.
    </p>
    <div class="row">
      <button type="button" class="quiet" disabled=${isReading} onClick=${() => void read()}>${isReading ? "Reading the data…" : "Propose"}</button>
    </div>
    <${Failure} error=${failure} />
    ${proposed.text.value !== "" &&
    html`
      <${Editor} label="Proposal" text=${proposed.text} onRun=${dryRun} extensions=${extensions} />
      <div class="row"><button type="button" onClick=${dryRun} title="Ctrl-Enter">Dry run</button></div>
    `}
    <${Preview} trial=${proposed} />
  `;
}
