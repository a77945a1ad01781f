/** The steps below a call of a rule that an answer had no space for: its fact is asked for as a row of its own. */

import { formsOf } from "../editor/query.js";
import type { Question } from "../server/answers.js";
import { reasonOf, type Step } from "./reason.js";

/** The call that holds, with what it follows from. Rejects where the server says that it does not hold. */
export async function stepBelow(question: Question, fact: string, signal?: AbortSignal): Promise<Step> {
  const { sections, inputs } = formsOf(question.query);
  const rules = sections.get(":rules");
  const places = inputs.flatMap(({ text }, i) => (text.startsWith("$") || text === "%" ? [i] : []));
  const query = [
    "[:find ?holds",
    ...(places.length > 0 ? [`:in $ ${places.map((i) => inputs[i]?.text).join(" ")}`] : []),
    ...(rules ? [`:rules ${rules.join(" ")}`] : []),
    `:where [(ground true) ?holds] ${fact}]`,
  ].join(" ");
  const reason = await reasonOf({ ...question, query, argsEdn: places.map((i) => question.argsEdn[i] ?? "") }, [true], signal);
  const step = reason.holds ? reason.steps.at(-1) : undefined;
  if (step === undefined) throw new Error(`the server finds no reason for ${fact} any more`);
  return step;
}
