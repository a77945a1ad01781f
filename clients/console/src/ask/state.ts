/** What the page asks: the query, its arguments, the moment, and the answer; the address names it. Parts of the page share these signals. */

import { computed, effect, signal, untracked } from "@preact/signals";
import type { Basis } from "@adalog/client";
import { remember } from "./history/entries.js";
import { expectedTypes } from "./arguments/expected.js";
import { type Field, fieldOf, fieldProblem } from "./arguments/fields.js";
import { formsOf } from "../editor/query.js";
import { answerOf, type Answer, type As, type Question } from "../server/answers.js";
import { attribute } from "../server/database.js";
import { hashOf, name, parsed, place } from "../shell/route.js";
import { mode, view } from "./shown.js";

const FIRST = "[:find ?e ?a ?v\n :where [?e ?a ?v]\n :limit 100]";

export const query = signal(FIRST);
/** The EDN texts of the inputs, in their order. */
export const args = signal<readonly string[]>([]);
/** The moment to read; undefined for the newest. */
export const basis = signal<Basis | undefined>(undefined);
/** The identity to ask as, for admins. */
export const as = signal<As | undefined>(undefined);

export const answer = signal<Answer | undefined>(undefined);
export const failure = signal<unknown>(undefined);
export const isRunning = signal(false);
/** How many questions have ended, in an answer or an error. */
export const ended = signal(0);

export const inputs = computed(() => formsOf(query.value).inputs);

const typeOf = computed(() => expectedTypes(query.value, (ident) => attribute(ident)?.valueType));

/** The fields of the form of arguments. */
export const argumentFields = computed<readonly Field[]>(() => inputs.value.map(({ text }) => fieldOf(text, typeOf.value)));

/** What is wrong with each argument before anything is sent. */
export const argumentProblems = computed(() => argumentFields.value.map((field, i) => fieldProblem(field, args.value[i] ?? "")));

/** Whether problems of arguments are shown: not before the query was to be run with them. */
export const showsProblems = signal(false);

export const question = computed<Question>(() => ({
  query: query.value,
  argsEdn: inputs.value.map((_, i) => args.value[i] ?? ""),
  basis: basis.value,
  as: as.value,
}));

/** Whether the answer is of another query, or of other arguments, than the editor has. */
export const isEdited = computed(() => {
  const of = answer.value?.question;
  return of !== undefined && (of.query !== query.value || of.argsEdn.join("\n") !== question.value.argsEdn.join("\n"));
});

let running: AbortController | undefined;

/** `isStep`: of a slider, whose every step is not worth to be remembered. `isOpened`: the address names the question already. */
interface Run {
  readonly isStep?: boolean;
  readonly isOpened?: boolean;
}

/** Asks; a query that still runs is cancelled. The browser's history gets an entry for each question that differs from the last. */
export async function run({ isStep = false, isOpened = false }: Run = {}): Promise<void> {
  running?.abort();
  const wrong = argumentProblems.value.findIndex((each) => each !== undefined);
  showsProblems.value = wrong >= 0;
  if (wrong >= 0) {
    failure.value = new Error(`Nothing was asked: ${argumentFields.value[wrong]?.text}: ${argumentProblems.value[wrong]}`);
    isRunning.value = false;
    ended.value += 1;
    return;
  }
  const mine = (running = new AbortController());
  isRunning.value = true;
  asked = question.value;
  // The address of a page that has not asked yet is not worth an entry.
  const isFirst = place.peek().parameters.get("query") === null;
  nameAsked(!isStep && !isOpened && !isFirst);
  try {
    const found = await answerOf(question.value, mine.signal);
    if (mine !== running) return;
    answer.value = found;
    const { query: text, argsEdn, basis: moment } = found.question;
    if (!isStep) remember({ query: text, argsEdn, basis: moment, at: Date.now(), rows: found.rows.length, ms: found.stats.elapsedMs });
    failure.value = undefined;
  } catch (error) {
    if (mine === running && !mine.signal.aborted) failure.value = error;
  } finally {
    if (mine === running) {
      isRunning.value = false;
      ended.value += 1;
    }
  }
}

export function cancel(): void {
  running?.abort();
  isRunning.value = false;
}

/** Puts an earlier question back, and asks it. */
export function restore({ query: text, argsEdn, basis: moment }: Pick<Question, "query" | "argsEdn" | "basis">): void {
  query.value = text;
  args.value = argsEdn;
  basis.value = moment;
  void run();
}

/** The question that was run last: the text in the editor may have been edited since. */
let asked: Question | undefined;
/** What the page itself has put into the address last. */
let named = "";

/** What names a question in a link. */
function parameters({ query: text, argsEdn, basis: moment, as: identity }: Question): Record<string, string | undefined> {
  return {
    query: text,
    args: argsEdn.some((each) => each !== "") ? JSON.stringify(argsEdn) : undefined,
    basis: moment === undefined ? undefined : JSON.stringify(moment),
    as: identity === undefined ? undefined : JSON.stringify(identity),
  };
}

/** What names the view of an answer in a link. */
function shownParameters(): Record<string, string | undefined> {
  return { view: view.peek() === "table" ? undefined : view.peek(), live: mode.peek() === "live" ? "true" : undefined };
}

function nameAsked(isNewEntry: boolean): void {
  if (asked === undefined) return;
  const given = { ...parameters(asked), ...shownParameters() };
  named = hashOf("ask", given);
  name("ask", given, { isNewEntry });
}

/** Names in the address how the answer is shown now; an entry of its own in the browser's history if that differs. */
export function nameShown(): void {
  if (asked === undefined) return;
  asked = { ...asked, basis: basis.peek() };
  nameAsked(true);
}

/** A link to the question in the editor, shown as it is now. */
export function link(): string {
  return new URL(hashOf("ask", { ...parameters(question.value), ...shownParameters() }), document.baseURI).href;
}

/** Opens the saved query that a link names. */
async function open(id: string): Promise<void> {
  try {
    const { readOne } = await import("./saved/store.js");
    const found = await readOne(id);
    if (found) restore(found);
    else failure.value = new Error("There is no such saved query, or this identity does not see it.");
  } catch (error) {
    failure.value = error;
  }
}

/** Takes over what the address names: how the answer is shown, and the question, which is asked unless its answer is there. */
function takeOver(given: URLSearchParams, text: string): void {
  named = hashOf("ask", Object.fromEntries(given));
  const found: Question = {
    query: text,
    argsEdn: parsed<string[]>(given.get("args")) ?? [],
    basis: parsed<Basis>(given.get("basis")),
    as: parsed<As>(given.get("as")),
  };
  const before = mode.value;
  view.value = given.get("view") ?? "table";
  mode.value = given.get("live") !== null ? "live" : found.basis === undefined ? "newest" : "asOf";
  const isSame = asked !== undefined && hashOf("ask", parameters(asked)) === hashOf("ask", parameters(found));
  // A stream or a comparison that ends leaves its own rows.
  const isOfIt = before === "newest" || before === "asOf" || mode.value === "live";
  const hasAnswer = isRunning.value || (answer.value !== undefined && failure.value === undefined && isOfIt);
  if (isSame && hasAnswer) return;
  query.value = text;
  args.value = found.argsEdn;
  basis.value = found.basis;
  as.value = found.as;
  void run({ isOpened: true });
}

effect(() => {
  const { page, parameters: given } = place.value;
  const text = given.get("query");
  const id = given.get("saved");
  if (page === "ask" && text === null && id !== null) void open(id);
  if (page !== "ask" || text === null || hashOf(page, Object.fromEntries(given)) === named) return;
  untracked(() => takeOver(given, text));
});
