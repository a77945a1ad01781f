/** EDN in the editor: its syntax, colours, indentation and brackets. */

import { closeBrackets } from "@codemirror/autocomplete";
import { bracketMatching, foldInside, foldNodeProp, HighlightStyle, indentNodeProp, LanguageSupport, LRLanguage, syntaxHighlighting } from "@codemirror/language";
import { styleTags, tags } from "@lezer/highlight";
import { parser } from "@nextjournal/lezer-clojure";

/** The language of queries, rules and transactions. */
export const edn = LRLanguage.define({
  name: "edn",
  parser: parser.configure({
    props: [
      styleTags({
        "Keyword NamespacedMap/KeywordPrefix": tags.keyword,
        "Operator/Symbol": tags.function(tags.variableName),
        Symbol: tags.variableName,
        "String StringContent": tags.string,
        'String/"\\""': tags.string,
        Character: tags.character,
        "Number SymbolicValue": tags.number,
        "Boolean Nil": tags.atom,
        "TaggedLiteral/ReaderTag": tags.typeName,
        "LineComment Discard!": tags.comment,
        "( ) [ ] { } #": tags.bracket,
      }),
      indentNodeProp.add({
        "Vector Map Set": (context) => context.column(context.node.from) + (context.node.name === "Set" ? 2 : 1),
        List: (context) => context.column(context.node.from) + 2,
        "String Program": () => null,
      }),
      foldNodeProp.add({ "Vector List Map Set": foldInside }),
    ],
  }),
  languageData: {
    commentTokens: { line: ";" },
    closeBrackets: { brackets: ["(", "[", "{", '"'] },
    wordChars: "?!*+-_./:%$&=<>",
  },
});

// Colours are variables of the style sheet, for light and dark.
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)" },
  { tag: tags.function(tags.variableName), color: "var(--code-function)" },
  { tag: tags.variableName, color: "var(--code-variable)" },
  { tag: [tags.string, tags.character], color: "var(--code-string)" },
  { tag: [tags.number, tags.atom, tags.typeName], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.bracket, color: "var(--code-bracket)" },
]);

export const ednSupport = new LanguageSupport(edn, [syntaxHighlighting(colours), bracketMatching(), closeBrackets()]);
