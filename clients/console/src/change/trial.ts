/** A transaction that is being written: its dry run, its commit, and what came of them. Forms and the editor each have one. */

import { computed, signal } from "@preact/signals";
import { AdalogError, type Json } from "@adalog/client";
import type { As } from "../server/answers.js";
import { refresh } from "../server/database.js";
import { commit, dryRun, type Report, type Transaction } from "../server/transactions.js";
import { valueOf, variablesOf } from "./variables.js";

/** A dry run that was not refused. */
export interface Tried {
  readonly transaction: Transaction;
  readonly report: Report;
  /** Makes a repeated commit the same commit. */
  readonly key: string;
}

export class Trial {
  readonly text = signal("");
  /** What is typed for each variable. */
  readonly values = signal<Readonly<Record<string, string>>>({});
  /** The identity whose policies count, for admins. */
  readonly as = signal<As | undefined>(undefined);

  readonly tried = signal<Tried | undefined>(undefined);
  readonly failure = signal<unknown>(undefined);
  /** The text that was refused. */
  readonly refused = signal<string | undefined>(undefined);
  readonly committed = signal<Report | undefined>(undefined);
  readonly isRunning = signal(false);
  /** How many dry runs and commits have ended. */
  readonly ended = signal(0);

  readonly variables = computed(() => variablesOf(this.text.value));

  readonly transaction = computed<Transaction>(() => {
    const names = this.variables.value;
    const args: Record<string, Json> = Object.fromEntries(names.map((name) => [name, valueOf(this.values.value[name] ?? "")]));
    return { tx: this.text.value, args: names.length > 0 ? args : undefined, as: this.as.value };
  });

  /** Whether the dry run is of what is written now. */
  readonly isCurrent = computed(() => JSON.stringify(this.tried.value?.transaction) === JSON.stringify(this.transaction.value));

  /** Whether another transaction came between the dry run and the commit. */
  readonly isOvertaken = computed(() => this.failure.value instanceof AdalogError && this.failure.value.code === "BASIS_CONFLICT");

  private running: AbortController | undefined;

  async dryRun(): Promise<void> {
    this.running?.abort();
    const mine = (this.running = new AbortController());
    const transaction = this.transaction.value;
    await this.run(mine, transaction, async () => {
      this.tried.value = undefined;
      this.committed.value = undefined;
      const report = await dryRun(transaction, mine.signal);
      if (!mine.signal.aborted) this.tried.value = { transaction, report, key: randomKey() };
    });
  }

  async commit(): Promise<void> {
    const tried = this.tried.value;
    if (tried === undefined || this.isRunning.value) return;
    const mine = (this.running = new AbortController());
    await this.run(mine, tried.transaction, async () => {
      this.committed.value = await commit(tried.transaction, tried.report.basisBefore, tried.key);
      this.tried.value = undefined;
    });
    if (this.committed.value) await refresh().catch(() => undefined);
  }

  /** Another transaction; what came of the one before is gone. */
  write(text: string): void {
    this.running?.abort();
    this.text.value = text;
    this.tried.value = this.committed.value = this.failure.value = this.refused.value = undefined;
    this.isRunning.value = false;
  }

  private async run(mine: AbortController, { tx }: Transaction, work: () => Promise<void>): Promise<void> {
    this.isRunning.value = true;
    try {
      await work();
      if (mine === this.running) this.failure.value = this.refused.value = undefined;
    } catch (error) {
      if (mine !== this.running || mine.signal.aborted) return;
      this.failure.value = error;
      this.refused.value = tx;
    } finally {
      if (mine === this.running) {
        this.isRunning.value = false;
        this.ended.value += 1;
      }
    }
  }
}

// `crypto.randomUUID` is missing on pages without TLS.
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
