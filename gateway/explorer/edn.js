/** EDN within the strings of GraphQL documents and of JSON variables: its colours, and the places of problems. */

const { parse } = window.GraphiQL.GraphQL;

// In a string between quotation marks, those of EDN are escaped.
const TOKENS = [
  [/^(?:[\s,]|\\[nt])+/, null],
  [/^"""|^"$/, null],
  [/^;.*/, "comment"],
  [/^"(?:[^"\\]|\\.)*"?/, "string"],
  [/^\\"(?:(?!\\").)*(?:\\")?/, "string"],
  [/^:[^\s,()[\]{}"\\]+/, "keyword"],
  [/^[?$%][^\s,()[\]{}"\\]*/, "variable"],
  [/^#[^\s,()[\]{}"\\]*/, "tag"],
  [/^[-+]?\d[^\s,()[\]{}"\\]*/, "number"],
  [/^(?:true|false|nil|_)(?![^\s,()[\]{}"\\])/, "constant"],
  [/^[()[\]{}]+/, "bracket"],
  [/^[^\s,()[\]{}"\\]+/, "symbol"],
  [/^./, null],
];

/** An overlay for CodeMirror: colours EDN in what its mode calls strings. */
export function overlay() {
  let end = 0;
  return {
    token(stream) {
      if (stream.sol()) end = 0;
      if (stream.pos >= end) {
        const base = stream.baseToken();
        end = base ? stream.pos + base.size : stream.string.length;
        const text = stream.string.slice(stream.pos, end);
        if (base?.type !== "string" || (/^"(?!"")/.test(text) && !/^"(?:\s|\\n)*[[({:#]/.test(text))) {
          stream.pos = end;
          return null;
        }
        if (/^"(?!"")/.test(text)) {
          stream.pos += 1;
          return null;
        }
      }
      const rest = stream.string.slice(stream.pos, end);
      const [token, name] = TOKENS.map(([pattern, kind]) => [pattern.exec(rest), kind]).find(([match]) => match);
      stream.pos += token[0].length;
      return name && `edn-${name}`;
    },
  };
}

// The argument that a problem without an origin is about.
const TEXTS = { q: "query", explain: "query", why: "query", live: "query", transact: "tx", pull: "pattern", pullMany: "pattern" };

/** The fields of the operation that was run, by their keys in the answer. */
export function fields(document, operationName) {
  const operations = document.definitions.filter((each) => each.kind === "OperationDefinition");
  const operation = operations.find((each) => each.name?.value === operationName) ?? operations[0];
  const selections = operation?.selectionSet.selections.filter((each) => each.kind === "Field") ?? [];
  return new Map(selections.map((field) => [(field.alias ?? field.name).value, field]));
}

/** The errors and warnings of an answer that have a place: `{ key, line, column, origin, message, isWarning }`. */
export function problems({ data, errors = [], extensions }) {
  const refused = errors.map(({ message, path, extensions: more }) => ({ message, key: path?.[0], ...more, isWarning: false }));
  const apart = (extensions?.warnings ?? []).map((each) => ({ ...each, key: each.path?.[0], isWarning: true }));
  const within = Object.entries(data ?? {}).flatMap(([key, field]) =>
    (field?.warnings ?? []).map((each) => ({ ...each, key, isWarning: true })),
  );
  return [...refused, ...apart, ...within].filter(({ key, line, column }) => key !== undefined && line && column);
}

/** Where a problem is: `{ isVariable, from, to }`, offsets in the document or the variables; undefined if unknown. */
export function place({ key, line, column, origin }, { query, operationName }, variables) {
  const field = fields(parse(query), operationName).get(key);
  const named = origin ? /^(\w+)(?:\[(\d+)\])?$/.exec(origin) : [null, TEXTS[field?.name.value]];
  const argument = field?.arguments.find(({ name }) => name.value === named?.[1])?.value;
  const node = named?.[2] && argument?.kind === "ListValue" ? argument.values[named[2]] : argument;
  if (node?.kind === "StringValue") {
    const quotes = node.block ? 3 : 1;
    const body = query.slice(node.loc.start + quotes, node.loc.end - quotes);
    return range(query, node.loc.start + quotes + (node.block ? inBlock : inQuotes)(body, line, column));
  }
  const before = named?.[2] && node === argument ? `\\[(?:\\s*"(?:[^"\\\\]|\\\\.)*"\\s*,){${named[2]}}\\s*` : "";
  const given = node?.kind === "Variable" && new RegExp(`"${node.name.value}"\\s*:\\s*${before}"`).exec(variables);
  if (!given) return undefined;
  const start = given.index + given[0].length;
  return { isVariable: true, ...range(variables, start + inQuotes(variables.slice(start), line, column)) };
}

function range(text, from) {
  return { from, to: from + (/^(?:[^\s,()[\]{}"\\]+|[^])/.exec(text.slice(from))?.[0].length ?? 0) };
}

// GraphQL removes empty lines at the beginning of a block string, and the indentation that all lines but the first share.
function inBlock(body, line, column) {
  const lines = body.split("\n");
  const indents = lines.slice(1).filter((each) => each.trim()).map((each) => each.search(/\S/));
  const index = Math.max(0, lines.findIndex((each) => each.trim())) + line - 1;
  const before = lines.slice(0, index).reduce((length, each) => length + each.length + 1, 0);
  const indent = index === 0 || indents.length === 0 ? 0 : Math.min(...indents);
  return before + indent + units((lines[index] ?? "").slice(indent), column - 1);
}

// An escape is one character of the text.
function inQuotes(body, line, column) {
  let [atLine, atColumn] = [1, 1];
  for (const { 0: each, index } of body.matchAll(/\\u\{[^}]*\}|\\u.{4}|\\.|[^]/gu)) {
    if (atLine === line && atColumn === column) return index;
    if (each === "\\n") [atLine, atColumn] = [atLine + 1, 1];
    else atColumn += 1;
  }
  return body.length;
}

/** The length in JavaScript of so many characters. */
function units(text, characters) {
  return [...text].slice(0, characters).join("").length;
}
