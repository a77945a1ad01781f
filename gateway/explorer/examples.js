// The tabs the explorer opens with: questions to the sample data, Debian's package graph.
"use strict";

window.ADALOG_EXAMPLES = [
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
