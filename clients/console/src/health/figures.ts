/** What is shown of the metrics: each figure from two moments that follow each other. */

import { greatest, quantile, sum, type Labels, type Metrics } from "./metrics.js";

export interface Figure {
  readonly title: string;
  /** What the figure means, for the tooltip. */
  readonly means: string;
  readonly written: (value: number) => string;
  /** Whether it is left out where it has no value. */
  readonly isOptional?: boolean;
  /** Undefined where the server does not say. `seconds`: between the two. */
  readonly value: (now: Metrics, before: Metrics, seconds: number) => number | undefined;
}

export interface FigureGroup {
  readonly title: string;
  readonly figures: readonly Figure[];
}

/** Not shown where the server does not say it. */
function gauge(title: string, name: string, means: string, written = count, labels?: Labels): Figure {
  return { title, means, written, isOptional: true, value: (now) => sum(now, name, labels) };
}

/** The same for all workers, such as the disk. */
function shared(...given: Parameters<typeof gauge>): Figure {
  const [, name, , , labels] = given;
  return { ...gauge(...given), value: (now) => greatest(now, name, labels) };
}

function rate(title: string, name: string, means: string, labels?: Labels, written = perSecond): Figure {
  return {
    title,
    means,
    written,
    value: (now, before, seconds) => {
      // What has never happened has no sample yet; a worker that was started again begins at 0.
      return Math.max(0, (sum(now, name, labels) ?? 0) - (sum(before, name, labels) ?? 0)) / seconds;
    },
  };
}

function latency(title: string, part: number, name: string, means: string, labels?: Labels): Figure {
  return { title, means, written: duration, value: (now, before) => quantile(part, name, now, before, labels) };
}

export const GROUPS: readonly FigureGroup[] = [
  {
    title: "Requests",
    figures: [
      rate("Requests", "adalog_requests_total", "GraphQL root fields answered, each second"),
      {
        title: "Errors",
        means: "Root fields that were answered with an error, each second",
        written: perSecond,
        value: (now, before, seconds) => {
          const errors = (metrics: Metrics) => (sum(metrics, "adalog_requests_total") ?? 0) - (sum(metrics, "adalog_requests_total", { code: "OK" }) ?? 0);
          return Math.max(0, errors(now) - errors(before)) / seconds;
        },
      },
      latency("Median latency", 0.5, "adalog_request_seconds", "Half of the requests took no longer than this bound"),
      latency("p99 latency", 0.99, "adalog_request_seconds", "99 % of the requests took no longer than this bound"),
      gauge("Connections", "adalog_connections", "Open connections"),
      rate("Refused tokens", "adalog_authentication_failures_total", "Requests without a known token, each second"),
    ],
  },
  {
    title: "Queries",
    figures: [
      gauge("Running", "adalog_queries_running", "Queries that have a slot"),
      gauge("Running heavy", "adalog_lane_running", "Queries that have a slot of the heavy lane", count, { lane: "HEAVY" }),
      gauge("Waiting", "adalog_queue_length", "Queries that wait for a slot"),
      rate("Cache hits", "adalog_cache_total", "Answers that the cache had, each second", { layer: "query", outcome: "hit" }),
      rate("Cache misses", "adalog_cache_total", "Answers that were computed, each second", { layer: "query", outcome: "miss" }),
      gauge("Cache memory", "adalog_cache_memory_bytes", "Bytes of answers that are kept", bytes),
    ],
  },
  {
    title: "Live queries",
    figures: [
      gauge("Subscriptions", "adalog_live_subscriptions", "Open subscriptions"),
      gauge("Streams", "adalog_streams", "Connections that are open for events"),
      gauge("Views", "adalog_live_views", "Queries that are maintained; queries that differ in their arguments count once"),
      rate("Events", "adalog_live_events_total", "Events for subscribers, each second"),
      latency("p99 lag", 0.99, "adalog_live_lag_seconds", "From a transaction until its events wait for their subscribers"),
      gauge("Memory", "adalog_live_bytes", "Bytes that views keep", bytes),
    ],
  },
  {
    title: "Database",
    figures: [
      shared("Transaction", "adalog_basis_t", "The newest transaction number"),
      shared("Datoms", "adalog_datoms", "Datoms that hold now"),
      shared("Entities", "adalog_entities", "Entities with a datom"),
      gauge("Tries and dictionary", "adalog_store_memory_bytes", "Bytes in memory", bytes),
    ],
  },
  {
    title: "Log and disks",
    figures: [
      latency("p99 commit", 0.99, "adalog_request_seconds", "99 % of the transactions were durable within this bound", { field: "transact" }),
      gauge("Waiting transactions", "adalog_transactions_waiting", "Transactions that are not answered yet"),
      gauge("Log failures", "adalog_log_failures_total", "Writes to the log that failed since the start"),
      gauge("Behind the log", "adalog_behind", "Servers and workers that do not see what others write"),
      shared("Free disk: data", "adalog_disk_free_bytes", "Bytes left on the disk of the data folder", bytes, { place: "data" }),
      shared("Free disk: segments", "adalog_disk_free_bytes", "Bytes left on the disk of the segments that gateways share", bytes, { place: "segments" }),
      shared("Last backup", "adalog_last_backup_timestamp_seconds", "When the database was backed up last, by any server or command", date),
    ],
  },
  {
    title: "Process",
    figures: [
      rate("CPU", "process_cpu_seconds_total", "Cores in use", {}, (value) => value.toFixed(2)),
      gauge("Memory", "process_resident_memory_bytes", "Resident bytes of all workers", bytes),
      gauge("Descriptors", "process_open_fds", "Open file descriptors"),
      gauge("Workers", "adalog_workers_ready", "Workers that are ready"),
    ],
  },
];

function count(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 0 });
}

function perSecond(value: number): string {
  return `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 })}/s`;
}

function date(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
}

function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "over 60 s";
  return seconds < 1 ? `≤ ${(seconds * 1000).toLocaleString("en", { maximumFractionDigits: 1 })} ms` : `≤ ${seconds} s`;
}

const UNITS = ["B", "KB", "MB", "GB", "TB"];

export function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** power).toLocaleString("en", { maximumFractionDigits: power < 2 ? 0 : 1 })} ${UNITS[power]}`;
}
