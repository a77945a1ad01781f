/** The policies of the database, and of which of the saved identities each one is. */

import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { answerOf } from "../server/answers.js";
import { identities, type SavedIdentity } from "./identities.js";

export interface Policy {
  readonly ":policy/name": string;
  readonly ":policy/roles"?: readonly string[];
  readonly ":policy/ops"?: readonly string[];
  readonly ":policy/on"?: readonly string[];
  readonly ":policy/rules"?: string;
  readonly ":policy/effect"?: string;
}

const QUERY = "[:find (pull ?p [*]) :where [?p :policy/name _]]";

export function Policies() {
  const [policies, setPolicies] = useState<readonly Policy[]>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const read = async () => (await answerOf({ query: QUERY, argsEdn: [] })).rows.map(([policy]) => policy as unknown as Policy);
    read().then(setPolicies, setError);
  }, []);
  if (error) return html`<${Failure} error=${error} />`;
  return html`
    <section aria-label="Policies">
      <h2>Policies</h2>
      ${policies?.length === 0 &&
      html`<p class="note">There is no policy: every client that may read sees everything. <a href="docs/how-to/permissions/">How to write policies</a>.</p>`}
      ${policies?.map(
        (each) => html`<details class="policy" key=${each[":policy/name"]}>
          <summary>
            <strong>${each[":policy/name"]}</strong>${" "}
            ${each[":policy/effect"] === ":require" && html`<span class="chip">requires</span> `}
            <span class="note">${words(each[":policy/ops"])} ${words(each[":policy/on"])} for ${words(each[":policy/roles"])}</span>
          </summary>
          <p class="note">Of the saved identities it is for: ${identities.value.filter((one) => isFor(each, one)).map(({ name }) => name).join(", ") || "none"}.</p>
          ${each[":policy/rules"] ? html`<pre tabindex="0" aria-label="Rules">${each[":policy/rules"]}</pre>` : html`<p class="note">It has no rules, and is for all entities.</p>`}
        </details>`,
      )}
    </section>
  `;
}

function isFor(policy: Policy, { roles }: SavedIdentity): boolean {
  const named = (policy[":policy/roles"] ?? []).map((each) => each.replace(/^:/, ""));
  return named.includes("*") || roles.some((each) => named.includes(each.replace(/^:/, "")));
}

function words(all: readonly string[] = []): string {
  return all.map((each) => each.replace(/^:/, "")).join(", ") || "nothing";
}
