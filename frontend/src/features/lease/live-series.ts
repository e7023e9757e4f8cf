/**
 * The last minutes of a slice's readings, as columns that a chart draws. Pure: no clock.
 * A missing value is null and breaks the line; so does silence between two samples.
 */
import type { LeaseSample, LiveReading } from "@/features/lease/lease-sample";
import type { Schema } from "@/lib/api";

export const METRICS = ["memory", "compute", "throttled", "power"] as const;
export type Metric = (typeof METRICS)[number];

/** What is shown at most. */
export const SPAN_S = 300;
/** Samples come at 2 Hz; a longer silence is a gap. */
export const GAP_S = 2.5;

export type Point = { at: number; value: number | null };
export type Series = Record<Metric, readonly Point[]>;
export const EMPTY: Series = { memory: [], compute: [], throttled: [], power: [] };

/** MiB, permille of the device, permille of the time, milliwatts. */
export const readingOf = (sample: LeaseSample, metric: Metric): LiveReading =>
  ({
    memory: sample.memory_mib,
    compute: sample.compute_permille,
    throttled: sample.throttled_permille,
    power: sample.power_mw,
  })[metric];

/** An old value is no new point: the driver only repeats itself. */
const pointValue = (reading: LiveReading) => (reading.quality === "stale" ? null : reading.value);

function extended(points: readonly Point[], at: number, value: number | null): readonly Point[] {
  const last = points.at(-1);
  // A sample that was overtaken changes nothing.
  if (last && at <= last.at) return points;
  const kept = points.filter((point) => point.at >= at - SPAN_S);
  const gap: Point[] = last && at - last.at > GAP_S ? [{ at: last.at + 0.001, value: null }] : [];
  return [...kept, ...gap, { at, value }];
}

export function addSample(series: Series, sample: LeaseSample): Series {
  const at = Date.parse(sample.at) / 1000;
  const add = (metric: Metric) => extended(series[metric], at, pointValue(readingOf(sample, metric)));
  return { memory: add("memory"), compute: add("compute"), throttled: add("throttled"), power: add("power") };
}

type Window = Schema<"Window">;

/** What one metered window says of a metric: an average, for memory the peak. Windows know no power. */
export function windowValue(window: Window, metric: Metric): number | null {
  if (metric === "memory") return window.peak_mib;
  if (metric === "compute") return window.used_permille_s === null ? null : window.used_permille_s / window.window_s;
  if (metric === "power" || window.throttled_ms === null) return null;
  return Math.min(1000, window.throttled_ms / window.window_s);
}

/** Metered windows as steps, for the time that no live sample covers. Silence between windows is a gap. */
export function windowSteps(windows: readonly Window[], metric: Metric, live: readonly Point[], now: number): Point[] {
  const first = live[0]?.at ?? Number.POSITIVE_INFINITY;
  const steps: Point[] = [];
  for (const window of [...windows].sort((a, b) => a.window_start.localeCompare(b.window_start))) {
    const from = Date.parse(window.window_start) / 1000;
    const until = from + window.window_s;
    if (until <= now - SPAN_S || until > first) continue;
    const value = windowValue(window, metric);
    const before = steps.at(-1);
    if (before && from - before.at > 1) steps.push({ at: before.at + 0.001, value: null });
    steps.push({ at: from + 0.002, value }, { at: until, value });
  }
  return steps;
}

/** Columns for the chart: times, live values, metered values, the limit at each end of the picture. */
export type Columns = [number[], (number | null | undefined)[], (number | null | undefined)[]];

/** One column of times; `undefined` is "no point of this line here", null is a gap. */
export function columns(live: readonly Point[], metered: readonly Point[]): Columns {
  const at = [...new Set([...metered, ...live].map((point) => point.at))].sort((a, b) => a - b);
  const values = (points: readonly Point[]) => {
    const known = new Map(points.map((point) => [point.at, point.value]));
    return at.map((time) => known.get(time));
  };
  return [at, values(live), values(metered)];
}
