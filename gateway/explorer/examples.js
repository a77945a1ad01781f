/** The tabs that the explorer opens with: questions to the database that is served. */

import { ATTRIBUTES as SAMPLE, TABS as SAMPLE_TABS, TYPED } from "./sample.js";

const ASKED = "{ attributes { ident valueType cardinality unique datomCount } }";
const FIRST = `query ($components: [EDN!]) {
  datoms(index: AEVT, components: $components, first: 1, encoding: EDN) { datoms { e v } }
}`;
const BUILT_IN = /^:(db|db\..*|policy|graphql)\//;
const WARNINGS = "warnings { code message line column }";
const ANSWER = ["columns { name type }", "rows", "stats { engine elapsedMs rows }", WARNINGS, "basisT"];
const EVENT = ["kind", "basisT", "rows", "added", "retracted", "reason", WARNINGS];
const REPORT = ["t", "tempids", "datoms { e a v added }", WARNINGS];
// A value of each type, as EDN. Of unique ones only those that no entity has by accident.
const VALUES = {
  string: '"An example"',
  uuid: '#uuid "0ada1815-1210-4843-9852-000000000001"',
  keyword: ":an/example",
  boolean: "true",
  long: "1",
  bigint: "1N",
  double: "1.5",
  float: "1.5",
  bigdec: "9.90M",
  instant: '#inst "2024-05-01T12:00:00Z"',
};

/** The texts of the tabs. `ask(document, variables)` returns a query's data. */
export async function examples(ask) {
  const { attributes } = await ask(ASKED);
  const there = new Set(attributes.map(({ ident }) => ident));
  if (SAMPLE.every((ident) => there.has(ident))) return SAMPLE_TABS.filter((each) => each !== TYPED || there.has(":graphql/type"));
  const own = attributes
    .filter(({ ident }) => !BUILT_IN.test(ident))
    .map((attribute) => ({ ...attribute, count: Number(attribute.datomCount) }))
    .sort((one, other) => other.count - one.count);
  return own.length === 0 ? EMPTY_TABS : tabs(subject(own), (ident) => firstDatom(ask, ident));
}

/** What the examples are about: the most used attribute, and others of its namespace. */
function subject(own) {
  const filled = own.filter(({ count }) => count > 0);
  const used = filled.length > 0 ? filled : own;
  const main = used.find(isShown) ?? used[0];
  const kin = used.filter(({ ident }) => namespace(ident) === namespace(main.ident));
  // Two attributes that more than half of the entities have are together on one of them at least.
  const others = kin.filter((each) => each.cardinality === "one" && isShown(each) && (2 * each.count > main.count || main.count === 0));
  const ofType = (attributes, type) => attributes.filter(({ valueType }) => valueType === type);
  const isPlain = ({ unique }) => unique === null;
  return {
    main,
    columns: [main, ...others.filter((each) => each !== main)].slice(0, 3),
    group: [...ofType(kin, "keyword"), ...ofType(kin, "boolean"), ...ofType(kin, "ref")].find(isPlain),
    ref: ofType(used, "ref")[0],
    ownRef: ofType(kin, "ref")[0],
    text: ofType(used, "string").find(isPlain) ?? ofType(used, "string")[0],
    key: kin.find(({ unique, valueType }) => unique === "identity" && valueType !== "tuple"),
  };
}

async function tabs({ main, columns, group, ref, ownRef, text, key }, find) {
  const entity = `?${namespace(main.ident).split(".").pop() || "e"}`;
  const named = columns.map((each, index) => [each.ident, variable(each, [entity, ...columns.slice(0, index).map((one) => variable(one))])]);
  const patterns = named.map(([ident, value]) => `[${entity} ${ident} ${value}]`);
  const rows = `[:find ${entity} ${named.map(([, value]) => value).join(" ")}\n :where ${patterns.join("\n        ")}\n :limit 50]`;
  // A live query has no limit, and there may be as many references as entities.
  const watched = group?.valueType === "ref" ? undefined : group;
  const written = columns.filter(({ valueType, unique }) => valueType in VALUES && (unique === null || ["string", "uuid"].includes(valueType)));
  const values = written.map(({ ident, valueType }) => `${ident} ${VALUES[valueType]}`);
  const datom = await find((key ?? main).ident);

  const made = [
    tab(`${main.ident}, the most used attribute,\nand others of the same entities.`, "query Rows", "q", { query: rows }, ANSWER),
    tab(`How many entities have ${group ? `which ${group.ident}` : main.ident}?`, "query Counts", "q", {
      query: `${counts(entity, main, group)}${group ? `\n :order-by [[(count ${entity}) :desc]]\n :limit 50` : ""}]`,
    }, ANSWER),
    ref && tab(`Which entities do most others refer to with ${ref.ident}?\nThe pull shows all attributes of each.`, "query Refs", "q", {
      query: `[:find (pull ?target [*]) (count ?source)
 :where [?source ${ref.ident} ?target]
 :order-by [[(count ?source) :desc]]
 :limit 20]`,
    }, ANSWER),
    text && tab(`Where does ${text.ident} contain a text?\nChange it in args.`, "query Text", "q", {
      query: `[:find ?e ?text
 :in $ ?part
 :where [?e ${text.ident} ?text]
        [(includes? ?text ?part)]
 :limit 50]`,
      args: ["a"],
    }, ANSWER),
    datom && tab(`One entity with all its attributes${ownRef ? `,\nand what it refers to with ${ownRef.ident}` : ""}.`, "query Pull", "pull", {
      eid: key && datom.v.length <= 60 ? `[${key.ident} ${datom.v}]` : String(datom.e),
      pattern: ownRef ? `[* {${ownRef.ident} [*]}]` : "[*]",
    }),
    tab("How a query is run: the order of its variables,\nand what each level did.", "query Plan", "explain", {
      query: ref ? `[:find ?source ?target\n :where [?source ${ref.ident} ?target]\n        [?target ${ref.ident} ?source]]` : rows,
      analyze: true,
    }, ["text", WARNINGS]),
    tab("A count kept up to date: let it run,\nand change the database in another window.", "subscription Live", "live", {
      query: `${counts(entity, main, watched)}]`,
    }, EVENT),
    tab("Running this changes the database: one new entity.", "mutation Transact", "transact", {
      tx: `[{${values.join("\n  ") || ':db/doc "An example"'}}]`,
    }, REPORT),
  ];
  return made.filter(Boolean);
}

/** The beginning of a query that counts entities, by the values of an attribute if there is one to group them. */
function counts(entity, main, group) {
  if (group === undefined) return `[:find (count ${entity})\n :where [${entity} ${main.ident}]`;
  const value = variable(group, [entity]);
  return `[:find ${value} (count ${entity})\n :where [${entity} ${group.ident} ${value}]`;
}

/** A tab: a comment, and an operation with one field. Texts among the arguments are EDN, as block strings. */
function tab(comment, operation, field, args, answer) {
  const written = Object.entries(args).map(([name, value]) => `    ${name}: ${typeof value === "string" ? block(value) : JSON.stringify(value)}\n`);
  const selection = answer ? ` {\n${answer.map((each) => `    ${each}\n`).join("")}  }` : "";
  return `${comment.replace(/^/gm, "# ")}\n${operation} {\n  ${field}(\n${written.join("")}  )${selection}\n}\n`;
}

function block(text) {
  return `"""\n${text.replaceAll('"""', '\\"""').replace(/^/gm, "      ")}\n    """`;
}

async function firstDatom(ask, ident) {
  const { datoms } = await ask(FIRST, { components: [ident] });
  return datoms.datoms[0];
}

function isShown({ valueType }) {
  return !["ref", "tuple", "bytes"].includes(valueType);
}

function namespace(ident) {
  return ident.includes("/") ? ident.slice(1, ident.indexOf("/")) : "";
}

/** A variable with the name of an attribute, other than those that are taken. */
function variable({ ident }, taken = []) {
  const name = `?${ident.slice(ident.indexOf("/") + 1 || 1)}`;
  return taken.includes(name) ? `${name}-value` : name;
}

const EMPTY_TABS = [
  tab("This database is empty. First a schema:\nrun this, then the next tabs.", "mutation Define", "transact", {
    tx: `[{:db/ident :person/name :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :person/born :db/valueType :db.type/long}
 {:db/ident :person/friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]`,
  }, REPORT),
  tab("Two entities, one of which refers to the other.", "mutation Add", "transact", {
    tx: `[{:db/id "ada" :person/name "Ada Lovelace" :person/born 1815}
 {:person/name "Charles Babbage" :person/born 1791 :person/friend ["ada"]}]`,
  }, REPORT),
  tab("Names of entities that refer to each other as friends.", "query Friends", "q", {
    query: `[:find ?name ?friend
 :where [?p :person/name ?name]
        [?p :person/friend ?f]
        [?f :person/name ?friend]]`,
  }, ANSWER),
  tab("A query kept up to date: let it run,\nand change the database in another window.", "subscription Live", "live", {
    query: `[:find ?name ?born
 :where [?p :person/name ?name]
        [?p :person/born ?born]]`,
  }, EVENT),
];
