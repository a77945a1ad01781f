/** The tabs for the sample data, Debian's package graph. */

export const ATTRIBUTES = [
  ":package/name", ":package/version", ":package/size", ":package/depends", ":package/section", ":package/maintainer",
  ":section/name", ":maintainer/name",
];

/** Asked where the sample declares types: databases that were loaded by earlier versions do not. */
export const TYPED = `# The same data as types: Ctrl+Space completes them.
# What the largest games with something in Python need.
query Typed {
  packages(
    where: {
      section: { name: { eq: "games" } }
      depends: { some: { name: { startsWith: "python3" } } }
    }
    orderBy: [{ installedSize: DESC }]
    first: 10
  ) {
    name
    installedSize
    maintainer { name }
    depends(orderBy: [{ size: DESC }], first: 3) { name size }
  }
}
`;

export const TABS = [
  `# Which packages depend on this one? Change the name in args, or press the button to ask.
query Dependents {
  q(
    query: """
      [:find ?name ?version
       :in $ ?target
       :where [?t :package/name ?target]
              [?p :package/depends ?t]
              [?p :package/name ?name]
              [?p :package/version ?version]
       :order-by [?name]
       :limit 50]
    """
    args: ["libsqlite3-0"]
  ) {
    columns { name type }
    rows
    stats { engine elapsedMs rows }
    warnings { code message line column }
    basisT
  }
}
`,
  `# How many packages does each section hold, and how large are they?
query Sections {
  q(
    query: """
      [:find ?section (count ?p) (sum ?size)
       :with ?p
       :where [?s :section/name ?section]
              [?p :package/section ?s]
              [?p :package/size ?size]
       :order-by [?section]]
    """
  ) {
    columns { name type }
    rows
    stats { engine elapsedMs rows }
  }
}
`,
  `# Packages that need each other: cycles of two in the dependency graph.
query Mutual {
  q(
    query: """
      [:find ?a ?b
       :where [?p :package/depends ?q]
              [?q :package/depends ?p]
              [(< ?p ?q)]
              [?p :package/name ?a]
              [?q :package/name ?b]
       :order-by [?a ?b]
       :limit 50]
    """
  ) {
    rows
    stats { engine elapsedMs rows }
  }
}
`,
  `# Three packages in a triangle, counted: the kind of join this engine is made for.
query Triangles {
  q(
    query: """
      [:find (count ?a) .
       :with ?b ?c
       :where [?a :package/depends ?b]
              [?b :package/depends ?c]
              [?a :package/depends ?c]]
    """
  ) {
    value
    stats { engine elapsedMs }
  }
}
`,
  `# Everything that a package needs, directly or by way of others: a rule that calls itself.
query Needs {
  q(
    query: """
      [:find [?name ...]
       :in $ ?package
       :where [?p :package/name ?package]
              (needs ?p ?d)
              [?d :package/name ?name]
       :order-by [?name]
       :rules [[(needs ?p ?d) [?p :package/depends ?d]]
               [(needs ?p ?d) [?p :package/depends ?c] (needs ?c ?d)]]]
    """
    args: ["git"]
  ) {
    value
    stats { engine elapsedMs rows }
  }
}
`,
  `# How many packages are how many steps away from one: the shortest of all ways counts.
query Distances {
  q(
    query: """
      [:find ?steps (count ?d)
       :in $ ?package
       :where [?p :package/name ?package]
              (distance ?p ?d ?steps)
       :order-by [?steps]
       :rules [[(distance ?p ?d (min ?n)) [?p :package/depends ?d] [(ground 1) ?n]]
               [(distance ?p ?d (min ?n)) (distance ?p ?c ?m) [?c :package/depends ?d] [(inc ?m) ?n]]]]
    """
    args: ["gimp"]
  ) {
    rows
    stats { engine elapsedMs }
  }
}
`,
  `# An entity as nested maps: what it needs, two levels deep, and a few of those that need it.
query Pull {
  pull(
    eid: "[:package/name \\"git\\"]"
    pattern: """
      [:package/name :package/version
       {:package/maintainer [:maintainer/name]}
       {:package/depends [:package/name {:package/depends [:package/name]}]}
       {[:package/_depends :limit 5 :as :needed-by] [:package/name]}]
    """
  )
}
`,
  TYPED,
  `# How a query is run: the order of its variables, and what each level did.
query Plan {
  explain(
    query: """
      [:find ?a ?b ?c
       :where [?a :package/depends ?b]
              [?b :package/depends ?c]
              [?a :package/depends ?c]]
    """
    analyze: true
  ) {
    text
    plan
  }
}
`,
  `# A query kept up to date: its rows, then what enters and leaves.
# Let it run, and change the database in another window (Transact).
subscription Live {
  live(
    query: """
      [:find ?name ?born
       :where [?p :person/name ?name]
              [?p :person/born ?born]]
    """
  ) {
    kind
    basisT
    rows
    added
    retracted
    reason
    warnings { code message line column }
  }
}
`,
  `# Change the database: one atomic transaction, and what it did.
mutation Transact {
  transact(
    tx: """
      [{:db/id "ada"
        :person/name "Ada Lovelace"
        :person/born 1815}]
    """
  ) {
    t
    tempids
    datoms { e a v added }
  }
}
`,
];
