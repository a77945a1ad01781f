/** Five minutes of /metrics and /readyz, read again every two seconds while the page of health is open. */

import { signal } from "@preact/signals";
import { token } from "../server/client.js";
import { read, type Metrics } from "./metrics.js";

export interface Moment {
  /** In seconds since 1970. */
  readonly time: number;
  readonly metrics: Metrics;
}

const EVERY_MS = 2_000;
const KEPT_SECONDS = 300;

export const moments = signal<readonly Moment[]>([]);
export const readiness = signal<Readonly<Record<string, unknown>>>({});
export const failed = signal<string | undefined>(undefined);

/** Reads until the signal is aborted. */
export async function follow(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await sample(signal);
      failed.value = undefined;
    } catch (error) {
      if (!signal.aborted) failed.value = error instanceof Error ? error.message : String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

async function sample(signal: AbortSignal): Promise<void> {
  const headers = token.value ? { Authorization: `Bearer ${token.value}` } : {};
  const [metrics, ready] = await Promise.all([fetch("metrics", { headers, signal, cache: "no-store" }), fetch("readyz", { signal, cache: "no-store" })]);
  readiness.value = (await ready.json()) as Record<string, unknown>;
  // With permissions on, the metrics are for admins.
  if (!metrics.ok) throw new Error(await refusalOf(metrics));
  const now = { time: Date.now() / 1000, metrics: read(await metrics.text()) };
  moments.value = [...moments.value.filter(({ time }) => time > now.time - KEPT_SECONDS), now];
}

async function refusalOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as { errors?: readonly { message: string }[] } | undefined;
  return body?.errors?.[0]?.message ?? `/metrics answered ${response.status}`;
}
