/** A further source, `$past`: the database at another moment, or a list of tuples. */

import { useState } from "preact/hooks";
import { html, type Markup } from "../../parts/html.js";
import { ValueField } from "./controls.js";
import type { FieldProperties } from "./rows.js";

interface Way {
  readonly title: string;
  readonly key: string;
  readonly type: string | undefined;
}

const WAYS: Readonly<Record<string, Way>> = {
  asOfT: { title: "as of transaction", key: ":as-of", type: "long" },
  asOf: { title: "as of instant (UTC)", key: ":as-of", type: "instant" },
  sinceT: { title: "since transaction", key: ":since", type: "long" },
  since: { title: "since instant (UTC)", key: ":since", type: "instant" },
  history: { title: "all of history", key: ":history", type: "true" },
  tuples: { title: "a list of tuples", key: "", type: undefined },
};

/** `{:basis {:as-of 5}}` as its way and value; undefined for what the fields cannot show. */
function read(text: string): { readonly way: string; readonly value: string } | undefined {
  if (text.trim() === "") return { way: "asOfT", value: "" };
  const [, key, value = ""] = /^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(text) ?? [];
  if (key === undefined) return undefined;
  if (key === ":history") return { way: "history", value: "true" };
  const isInstant = value.startsWith("#inst");
  return { way: key === ":as-of" ? (isInstant ? "asOf" : "asOfT") : isInstant ? "since" : "sinceT", value };
}

export function SourceField({ field, text, onChange, problem }: FieldProperties): Markup {
  const given = read(text);
  const [chosen, setChosen] = useState(given?.way ?? "tuples");
  // Nothing in the text tells which of the ways was chosen before a value is there.
  const name = text === "" ? chosen : (given?.way ?? "tuples");
  const way = WAYS[name];
  const set = (value: string) => onChange(value === "" ? "" : way?.key ? `{:basis {${way.key} ${value}}}` : value);
  const choose = (event: Event) => {
    const now = (event.target as HTMLSelectElement).value;
    setChosen(now);
    onChange(now === "history" ? "{:basis {:history true}}" : "");
  };
  return html`<span class="lookup">
    <select aria-label=${`${field.text}: which database`} value=${name} onChange=${choose}>
      ${Object.entries(WAYS).map(([each, { title }]) => html`<option key=${each} value=${each}>${title}</option>`)}
    </select>
    ${name !== "history" && html`<${ValueField} label=${field.text} type=${way?.type} text=${way?.key ? (given?.value ?? "") : text} onChange=${set} problem=${problem} />`}
  </span>`;
}
