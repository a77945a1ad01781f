/** The figures of /metrics, in Prometheus' text format. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by the names of their metrics. */
export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function read(text: string): Metrics {
  const found = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value = ""] = (!line.startsWith("#") && LINE.exec(line)) || [];
    if (name === undefined) continue;
    const pairs = [...labels.matchAll(LABEL)].map(([, key = "", text = ""]) => [key, text.replace(/\\(.)/g, unescaped)]);
    const sample = { labels: Object.fromEntries(pairs) as Record<string, string>, value: numberOf(value) };
    const others = found.get(name);
    if (others) others.push(sample);
    else found.set(name, [sample]);
  }
  return found;
}

function unescaped(_: string, letter: string): string {
  return letter === "n" ? "\n" : letter;
}

function numberOf(text: string): number {
  return text === "+Inf" ? Number.POSITIVE_INFINITY : Number(text);
}

export type Labels = Readonly<Record<string, string>>;

function has(sample: Sample, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => sample.labels[key] === value);
}

/** The sum of a metric's samples that have these labels: over all workers, for one. */
export function sum(metrics: Metrics, name: string, labels: Labels = {}): number | undefined {
  return valuesOf(metrics, name, labels)?.reduce((total, value) => total + value, 0);
}

/** The greatest of a metric's samples that have these labels, of what all workers share. */
export function greatest(metrics: Metrics, name: string, labels: Labels = {}): number | undefined {
  return valuesOf(metrics, name, labels)?.reduce((most, value) => Math.max(most, value));
}

function valuesOf(metrics: Metrics, name: string, labels: Labels): number[] | undefined {
  const chosen = metrics.get(name)?.filter((each) => has(each, labels)).map(({ value }) => value);
  return chosen?.length ? chosen : undefined;
}

/**
 * The bound below which a part of the observations between two samples of a histogram fell: an upper estimate of a quantile.
 * Undefined where nothing was observed.
 */
export function quantile(part: number, name: string, after: Metrics, before: Metrics, wanted: Labels = {}): number | undefined {
  const bounds = new Map<number, number>();
  const add = (metrics: Metrics, sign: number) => {
    for (const sample of metrics.get(`${name}_bucket`) ?? []) {
      if (!has(sample, wanted)) continue;
      const bound = numberOf(sample.labels["le"] ?? "+Inf");
      bounds.set(bound, (bounds.get(bound) ?? 0) + sign * sample.value);
    }
  };
  add(after, 1);
  add(before, -1);
  const sorted = [...bounds].sort(([one], [other]) => one - other);
  const all = sorted.at(-1)?.[1] ?? 0;
  return all > 0 ? sorted.find(([, count]) => count >= part * all)?.[0] : undefined;
}
