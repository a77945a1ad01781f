/** The first clause that no row passes, underlined in the editor as long as it has that query. */

import { useEffect } from "preact/hooks";
import { query } from "../ask/state.js";
import { underlined } from "../editor/underlined.js";
import { html, type Markup } from "../parts/html.js";
import { Tree, type TreeNode } from "../parts/tree.js";
import type { Question } from "../server/answers.js";
import type { Failed, FailedRule } from "./reason.js";

export function Missing({ question, failed }: { question: Question; failed: Failed }) {
  const { clause, line, column, why, fails } = failed;
  const isShown = line !== undefined && column !== undefined && query.value === question.query;
  useEffect(() => {
    if (!isShown) return;
    underlined.value = { text: question.query, line, column, message: "No row passes this clause together with those before it." };
    return () => {
      underlined.value = undefined;
    };
  }, [isShown, question.query, line, column]);
  return html`
    <div role="status">
      <p>The answer has no such row. ${why ? `${why[0]?.toUpperCase()}${why.slice(1)}.` : "No row passes this clause together with those before it:"}</p>
      ${clause && html`<pre class="clause">${clause}</pre>`}
      ${isShown && html`<p class="note">It is underlined in the editor, at line ${line}, column ${column}.</p>`}
    </div>
    <${Values} values=${failed.with} />
    ${fails !== undefined && fails.length > 0 && html`<h3>Why no rule of it holds</h3><${Tree} label="Rules that do not hold" roots=${fails.map(failureOf)} />`}
  `;
}

/** A rule that does not hold, and below its clause that no row passes the rules that do not hold there. */
export function failureOf(failed: FailedRule): TreeNode {
  const { rule, why, clause, fails, more } = failed;
  const content: Markup = html`
    <span class="kind">rule</span> <code>${rule}</code>
    <p class="note">${why ?? (more ? "There is no space for more." : "No row passes ")}${clause && html`<code>${clause}</code>`}</p>
    <${Values} values=${failed.with} />
  `;
  return { content, below: fails && fails.length > 0 ? () => fails.map(failureOf) : undefined };
}

function Values({ values = {} }: { values: Failed["with"] }) {
  const all = Object.entries(values);
  return all.length === 0 ? null : html`<p class="with">with ${all.map(([name, value]) => html`<code key=${name}>${name} = ${value}</code> `)}</p>`;
}
