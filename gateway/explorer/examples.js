/** The tabs that the explorer opens with: questions to the database that is served. */

import { ATTRIBUTES as SAMPLE, TABS as SAMPLE_TABS } from "./sample.js";

const ASKED = "{ attributes { ident valueType cardinality unique datomCount } }";
const FIRST = `query ($components: [EDN!]) {
  datoms(index: AEVT, components: $components, first: 1, encoding: EDN) { datoms { e v } }
}`;
const BUILT_IN = /^:(db|db\..*|policy|graphql)\//;
const ANSWER = `{
    columns { name type }
    rows
    stats { engine elapsedMs rows }
    warnings { code message line column }
    basisT
  }`;
const EVENTS = `{
    kind
    basisT
    rows
    added
    retracted
    reason
    warnings { code message line column }
  }`;
const REPORT = `{
    t
    tempids
    datoms { e a v added }
    warnings { code message line column }
  }`;
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
  if (SAMPLE.every((ident) => there.has(ident))) return SAMPLE_TABS;
  const own = attributes
    .filter(({ ident }) => !BUILT_IN.test(ident))
    .sort((one, other) => Number(other.datomCount) - Number(one.datomCount));
  return own.length === 0 ? EMPTY_TABS : tabs(shape(own), (ident) => first(ask, ident));
}

/** What the examples are about: the most used attribute, and others of its namespace. */
function shape(own) {
  const filled = own.filter(({ datomCount }) => Number(datomCount) > 0);
  const used = filled.length > 0 ? filled : own;
  const [main] = used.filter(isShown).concat(used);
  const kin = used.filter(({ ident }) => namespace(ident) === namespace(main.ident));
  const shown = [main, ...kin.filter((each) => each !== main && each.cardinality === "one" && isShown(each))].slice(0, 3);
  return {
    main,
    shown,
    entity: `?${namespace(main.ident).split(".").pop() || "e"}`,
    group: kin.find(({ valueType, unique }) => ["keyword", "boolean", "ref"].includes(valueType) && unique === null),
    ref: used.find(({ valueType }) => valueType === "ref"),
    ownRef: kin.find(({ valueType }) => valueType === "ref"),
    text: used.find(({ valueType, unique }) => valueType === "string" && unique === null) ?? used.find(({ valueType }) => valueType === "string"),
    key: kin.find(({ unique, valueType }) => unique === "identity" && valueType !== "tuple"),
    written: shown.filter(({ valueType, unique }) => valueType in VALUES && (unique === null || ["string", "uuid"].includes(valueType))),
  };
}

async function tabs(about, find) {
  const { main, shown, entity, group, ref, ownRef, text, key, written } = about;
  const columns = shown.map(({ ident }, index) => variable(ident, [entity, ...shown.slice(0, index).map((each) => `?${local(each.ident)}`)]));
  const rows = edn(`[:find ${entity} ${columns.join(" ")}
 :where ${shown.map(({ ident }, index) => `[${entity} ${ident} ${columns[index]}]`).join("\n        ")}
 :limit 50]`);
  const counted = group
    ? `[:find ${variable(group.ident, [entity])} (count ${entity})
 :where [${entity} ${group.ident} ${variable(group.ident, [entity])}]`
    : `[:find (count ${entity})
 :where [${entity} ${main.ident}]`;
  const made = [
    `# ${main.ident}, the most used attribute,
# and others of the same entities.
query Rows {
  q(
    query: ${rows}
  ) ${ANSWER}
}
`,
    `# How many entities have ${group ? `which ${group.ident}` : main.ident}?
query Counts {
  q(
    query: ${edn(group ? `${counted}\n :order-by [[(count ${entity}) :desc]]]` : `${counted}]`)}
  ) ${ANSWER}
}
`,
  ];
  if (ref) {
    made.push(`# Which entities do most others refer to with ${ref.ident}?
# The pull shows all attributes of each.
query Refs {
  q(
    query: ${edn(`[:find (pull ?target [*]) (count ?source)
 :where [?source ${ref.ident} ?target]
 :order-by [[(count ?source) :desc]]
 :limit 20]`)}
  ) ${ANSWER}
}
`);
  }
  if (text) {
    made.push(`# Where does ${text.ident} contain a text?
# Change it in args.
query Text {
  q(
    query: ${edn(`[:find ?e ?text
 :in $ ?part
 :where [?e ${text.ident} ?text]
        [(includes? ?text ?part)]
 :limit 50]`)}
    args: ["a"]
  ) ${ANSWER}
}
`);
  }
  const datom = await find((key ?? main).ident);
  if (datom) {
    const named = key && datom.v.length <= 60 ? `[${key.ident} ${datom.v}]` : String(datom.e);
    made.push(`# One entity with all its attributes${ownRef ? `,\n# and what it refers to with ${ownRef.ident}` : ""}.
query Pull {
  pull(
    eid: ${edn(named)}
    pattern: ${edn(ownRef ? `[* {${ownRef.ident} [*]}]` : "[*]")}
  )
}
`);
  }
  made.push(
    `# How a query is run: the order of its variables,
# and what each level did.
query Plan {
  explain(
    query: ${ref ? edn(`[:find ?source ?target
 :where [?source ${ref.ident} ?target]
        [?target ${ref.ident} ?source]]`) : rows}
    analyze: true
  ) {
    text
    warnings { code message line column }
  }
}
`,
    `# The counts kept up to date: let it run,
# and change the database in another window.
subscription Live {
  live(
    query: ${edn(`${counted}]`)}
  ) ${EVENTS}
}
`,
    `# Running this changes the database: one new entity.
mutation Transact {
  transact(
    tx: ${edn(`[{${written.length > 0 ? written.map(({ ident, valueType }) => `${ident} ${VALUES[valueType]}`).join("\n  ") : ':db/doc "An example"'}}]`)}
  ) ${REPORT}
}
`,
  );
  return made;
}

async function first(ask, ident) {
  const { datoms } = await ask(FIRST, { components: [ident] });
  return datoms.datoms[0];
}

/** EDN as a block string of GraphQL. */
function edn(text) {
  return `"""\n${text.replaceAll('"""', '\\"""').replace(/^/gm, "      ")}\n    """`;
}

function isShown({ valueType }) {
  return valueType !== "ref" && valueType !== "tuple" && valueType !== "bytes";
}

function namespace(ident) {
  return ident.includes("/") ? ident.slice(1, ident.indexOf("/")) : "";
}

function local(ident) {
  return ident.slice(ident.indexOf("/") + 1 || 1);
}

/** A variable named after an attribute, other than those that are taken. */
function variable(ident, taken) {
  const name = `?${local(ident)}`;
  return taken.includes(name) ? `${name}-value` : name;
}

const EMPTY_TABS = [
  `# This database is empty. First a schema:
# run this, then the next tabs.
mutation Define {
  transact(
    tx: """
      [{:db/ident :person/name :db/valueType :db.type/string :db/unique :db.unique/identity}
       {:db/ident :person/born :db/valueType :db.type/long}
       {:db/ident :person/friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]
    """
  ) ${REPORT}
}
`,
  `# Two entities, one of which refers to the other.
mutation Add {
  transact(
    tx: """
      [{:db/id "ada" :person/name "Ada Lovelace" :person/born 1815}
       {:person/name "Charles Babbage" :person/born 1791 :person/friend ["ada"]}]
    """
  ) ${REPORT}
}
`,
  `# Names of entities that refer to each other as friends.
query Friends {
  q(
    query: """
      [:find ?name ?friend
       :where [?p :person/name ?name]
              [?p :person/friend ?f]
              [?f :person/name ?friend]]
    """
  ) ${ANSWER}
}
`,
  `# A query kept up to date: let it run,
# and change the database in another window.
subscription Live {
  live(
    query: """
      [:find ?name ?born
       :where [?p :person/name ?name]
              [?p :person/born ?born]]
    """
  ) ${EVENTS}
}
`,
];
