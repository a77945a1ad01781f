/** What the page asks: the query, its arguments, the moment, and the answer. Parts of the page share these signals. */

import { computed, effect, signal, untracked } from "@preact/signals";
import type { Basis } from "@adalog/client";
import { remember } from "./history/entries.js";
import { expectedTypes } from "./arguments/expected.js";
import { type Field, fieldOf, fieldProblem } from "./arguments/fields.js";
import { formsOf } from "../editor/query.js";
import { answerOf, type Answer, type As, type Question } from "../server/answers.js";
import { attribute } from "../server/database.js";
import { hashOf, name, parsed, place } from "../shell/route.js";

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
  // The address of a page that has not asked yet is not worth an entry.
  const isFirst = place.peek().parameters.get("query") === null;
  name("ask", parameters(), { isNewEntry: !isStep && !isOpened && !isFirst });
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

/** What a link to this question holds. */
function parameters(): Record<string, string | undefined> {
  const given = question.value;
  return {
    query: given.query,
    args: given.argsEdn.some((each) => each !== "") ? JSON.stringify(given.argsEdn) : undefined,
    basis: given.basis === undefined ? undefined : JSON.stringify(given.basis),
    as: given.as === undefined ? undefined : JSON.stringify(given.as),
  };
}

export function link(): string {
  return new URL(hashOf("ask", parameters()), document.baseURI).href;
}

/** Opens the saved query that a link names. */
async function open(id: string): Promise<void> {
  try {
    const { readOne } = await import("./saved/store.js");
    const found = await readOne(id);
    if (found) restore({ query: found.query, argsEdn: found.argsEdn, basis: undefined });
    else failure.value = new Error("There is no such saved query, or this identity does not see it.");
  } catch (error) {
    failure.value = error;
  }
}

/** Takes the question of the address over, and asks it. */
effect(() => {
  const { page, parameters: given } = place.value;
  const text = given.get("query");
  const id = given.get("saved");
  if (page === "ask" && text === null && id !== null) void open(id);
  if (page !== "ask" || text === null) return;
  untracked(() => {
    if (text === query.value && (isRunning.value || answer.value !== undefined) && link() === window.location.href) return;
    query.value = text;
    args.value = parsed<string[]>(given.get("args")) ?? [];
    basis.value = parsed<Basis>(given.get("basis"));
    as.value = parsed<As>(given.get("as"));
    void run({ isOpened: true });
  });
});
