/** Saved queries: entities of the database with attributes in `:console/…`, so that whoever may read them finds them. */

import { signal } from "@preact/signals";
import type { Basis } from "@adalog/client";
import { answerOf, type Question } from "../../server/answers.js";
import { ask } from "../../server/client.js";
import { attribute, identity, refresh } from "../../server/database.js";
import { parsed } from "../../shell/route.js";

export interface Saved {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly query: string;
  readonly argsEdn: readonly string[];
  /** The moment that it was saved with. */
  readonly basis: Basis | undefined;
  readonly owner: string;
  readonly created: string;
}

export const saved = signal<readonly Saved[]>([]);

const BASIS = `{:db/ident :console/basis :db/valueType :db.type/string :db/doc "The moment that it reads, as JSON; the newest without one."}`;

const ATTRIBUTES = `[{:db/ident :console/id :db/valueType :db.type/uuid :db/unique :db.unique/identity :db/doc "A saved query of the console."}
 {:db/ident :console/name :db/valueType :db.type/string :db/doc "What a saved query is called."}
 {:db/ident :console/description :db/valueType :db.type/string :db/doc "What a saved query is for."}
 {:db/ident :console/query :db/valueType :db.type/string :db/doc "Its text."}
 {:db/ident :console/args :db/valueType :db.type/string :db/doc "Its arguments: a JSON list of EDN texts."}
 {:db/ident :console/owner :db/valueType :db.type/string :db/doc "The name of the identity that saved it."}
 {:db/ident :console/shared :db/valueType :db.type/boolean :db/doc "Whether every identity sees it."}
 {:db/ident :console/created :db/valueType :db.type/instant :db/doc "When it was saved."}
 ${BASIS}]`;

const POLICIES = `[{:policy/name "console: identities see and change their saved queries" :policy/roles [:*]
  :policy/ops [:read :create :update :delete] :policy/on [:console]
  :policy/rules "[[(allow ?q) (claim :sub ?me) [?q :console/owner ?me]]]"}
 {:policy/name "console: shared queries are seen by every identity" :policy/roles [:*]
  :policy/ops [:read] :policy/on [:console]
  :policy/rules "[[(allow ?q) [?q :console/shared true]]]"}]`;

export function isInstalled(): boolean {
  return attribute(":console/id") !== undefined;
}

/** The transactions that saved queries need in this database: attributes, and policies where there are policies already. */
export function installation(): readonly string[] {
  // A first policy would deny everything that no policy grants.
  return Number(attribute(":policy/name")?.datomCount ?? 0) > 0 ? [ATTRIBUTES, POLICIES] : [ATTRIBUTES];
}

const TRANSACT = "mutation ($tx: EDN!, $args: JSON) { transact(tx: $tx, args: $args) { t } }";

export async function install(): Promise<void> {
  for (const tx of installation()) await ask(TRANSACT, { tx });
  await refresh();
}

const FIELDS = "[?q :console/id ?id] [?q :console/name ?name] [?q :console/query ?query]";
const OPTIONAL = `(optional [?q :console/description ?description]) (optional [?q :console/args ?args])
  (optional [?q :console/owner ?owner]) (optional [?q :console/created ?created]) (optional [?q :console/basis ?basis])`;
const COLUMNS = "?id ?name ?description ?query ?args ?owner ?created ?basis";

export async function readAll(): Promise<void> {
  saved.value = isInstalled() ? await rows(`[:find ${COLUMNS} :where ${FIELDS} ${OPTIONAL} :order-by [?name]]`, []) : [];
}

export async function readOne(id: string): Promise<Saved | undefined> {
  if (!/^[0-9a-fA-F-]{36}$/.test(id)) return undefined;
  const found = await rows(`[:find ${COLUMNS} :in $ ?id :where ${FIELDS} ${OPTIONAL}]`, [`#uuid "${id}"`]);
  return found[0];
}

async function rows(query: string, argsEdn: readonly string[]): Promise<Saved[]> {
  const answer = await answerOf({ query, argsEdn });
  return answer.rows.map((row) => {
    const [id = "", name = "", description = "", text = "", args = "", owner = "", created = "", basis = ""] = row.map((each) => (typeof each === "string" ? each : ""));
    return { id, name, description, query: text, argsEdn: listIn(args), basis: parsed<Basis>(basis), owner, created };
  });
}

function listIn(text: string): readonly string[] {
  const found = parsed<unknown>(text);
  return Array.isArray(found) ? found.map(String) : [];
}

/** Saves a question under a name, with its moment if it has one. Returns its id. */
export async function save({ query, argsEdn, basis }: Question, name: string, description: string, isShared: boolean): Promise<string> {
  const id = crypto.randomUUID();
  const owner = identity.peek()?.principal;
  const args: Record<string, unknown> = { id, name, query, args: JSON.stringify(argsEdn), shared: isShared, created: new Date().toISOString() };
  let tx = "[{:console/id ?id :console/name ?name :console/query ?query :console/args ?args :console/shared ?shared :console/created ?created";
  if (description) {
    args["description"] = description;
    tx += " :console/description ?description";
  }
  if (owner) {
    args["owner"] = owner;
    tx += " :console/owner ?owner";
  }
  if (basis) {
    // Databases whose saved queries are older have no attribute for it.
    if (attribute(":console/basis") === undefined) {
      await ask(TRANSACT, { tx: `[${BASIS}]` });
      await refresh();
    }
    args["basis"] = JSON.stringify(basis);
    tx += " :console/basis ?basis";
  }
  await ask(TRANSACT, { tx: `${tx}}]`, args });
  await readAll();
  return id;
}

export async function remove({ id }: Saved): Promise<void> {
  await ask(TRANSACT, { tx: `[[:db/retractEntity [:console/id #uuid "${id}"]]]` });
  await readAll();
}
