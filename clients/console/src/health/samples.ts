/** Five minutes of /metrics and /readyz, read again every two seconds from the first look at the page of health on. */

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

let isOpen = false;
let isFollowing = false;

/** The page of health opens. What is not refused is read on when it closes, so that the next look has a past. */
export function open(): () => void {
  isOpen = true;
  if (!isFollowing) void follow();
  return () => void (isOpen = false);
}

async function follow(): Promise<void> {
  isFollowing = true;
  while (isOpen || failed.peek() === undefined) {
    // Another tab is looked at, which may read them, too.
    if (!document.hidden) {
      try {
        await sample();
        failed.value = undefined;
      } catch (error) {
        failed.value = error instanceof Error ? error.message : String(error);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  isFollowing = false;
}

async function sample(): Promise<void> {
  const headers = token.value ? { Authorization: `Bearer ${token.value}` } : {};
  const [metrics, ready] = await Promise.all([fetch("metrics", { headers, cache: "no-store" }), fetch("readyz", { cache: "no-store" })]);
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
