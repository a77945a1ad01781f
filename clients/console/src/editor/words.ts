/** The words of the query language that are no built-ins: sections, clauses, forms of `:find`, directions. */

export interface Word {
  readonly label: string;
  readonly detail: string;
  readonly info: string;
}

export const SECTIONS: readonly Word[] = [
  { label: ":find", detail: "?x (count ?y) …", info: "What each row shows: variables, aggregates, pulls and expressions." },
  { label: ":in", detail: "$ ?x [?y ...] %", info: "What the query takes: sources, values, lists, tuples, relations and rules." },
  { label: ":where", detail: "[?e :a/b ?v] …", info: "The clauses that every row satisfies." },
  { label: ":with", detail: "?x …", info: "Variables that keep rows apart for aggregates and are not shown." },
  { label: ":having", detail: "[(> (count ?x) 3)]", info: "Conditions on groups, after aggregation." },
  { label: ":order-by", detail: "[?x [?y :desc]]", info: "The order of the rows: variables, aggregates, or columns from 1; a direction belongs to the term before it." },
  { label: ":limit", detail: "100", info: "At most so many rows. Without an order, evaluation stops once they are known." },
  { label: ":offset", detail: "100", info: "So many rows are left out at the beginning." },
  { label: ":timeout", detail: "5000", info: "Milliseconds after which the query is given up." },
  { label: ":rules", detail: "[[(name ?x) …]]", info: "Rules: several with one name are alternatives, and they may call themselves." },
  { label: ":keys", detail: "a b", info: "Rows as maps with these keys." },
  { label: ":strs", detail: "a b", info: "Rows as maps with these strings as keys." },
  { label: ":syms", detail: "a b", info: "Rows as maps with these symbols as keys." },
];

export const CLAUSES: readonly Word[] = [
  { label: "or", detail: "clause …", info: "At least one of the clauses holds; all need the same variables." },
  { label: "or-join", detail: "[?x] clause …", info: "As `or`; variables that are not listed are local." },
  { label: "and", detail: "clause …", info: "Within `or`: all of the clauses hold." },
  { label: "not", detail: "clause …", info: "The clauses do not hold together." },
  { label: "not-join", detail: "[?x] clause …", info: "As `not`; variables that are not listed are local." },
  { label: "optional", detail: "clause …", info: "A left join: where the clauses do not hold, their variables are nil." },
];

export const FIND_CALLS: readonly Word[] = [
  { label: "pull", detail: "?e [:a/b {:c/d [*]}]", info: "What a pattern shows of an entity." },
];

export const FIND_FORMS: readonly Word[] = [
  { label: "[?x ...]", detail: "a list", info: "The values of one column as a list." },
  { label: "[?a ?b]", detail: "one row", info: "The first row as a tuple." },
  { label: "?x .", detail: "one value", info: "The value of the first row." },
  { label: "(pull ?e [*])", detail: "an entity", info: "What a pattern shows of an entity." },
];

export const INPUT_FORMS: readonly Word[] = [
  { label: "$", detail: "source", info: "The database of the request." },
  { label: "%", detail: "rules", info: "Rules that are given as an argument." },
  { label: "[?x ...]", detail: "a list", info: "Each of several values." },
  { label: "[?a ?b]", detail: "a tuple", info: "Several values at once." },
  { label: "[[?a ?b]]", detail: "a relation", info: "Each of several tuples." },
];

export const DIRECTIONS: readonly Word[] = [
  { label: ":asc", detail: "", info: "Ascending, the default. nil comes last in either direction." },
  { label: ":desc", detail: "", info: "Descending." },
];

export const PULL_OPTIONS: readonly Word[] = [
  { label: ":as", detail: "name", info: "Another key for the attribute." },
  { label: ":limit", detail: "number", info: "At most so many values; 1000 by default." },
  { label: ":default", detail: "value", info: "What stands where there is no value." },
];
