/** How each metric is written and drawn. Pure. */
import type { LeaseSample, LiveReading } from "@/features/lease/lease-sample";
import { readingOf, type Metric } from "@/features/lease/live-series";
import type { MessageKey } from "@/lib/i18n";
import { formatMemory, formatNumber, formatPower, formatShare } from "@/lib/units";

export type MetricView = {
  metric: Metric;
  name: MessageKey;
  unit: MessageKey | null;
  color: string;
  /** A value in the metric's own unit, in words. */
  write: (value: number) => string;
  /** A tick of the axis: the unit stands once beside it. */
  tick: (value: number) => string;
};

const ticks = (value: number) => formatNumber(value / 10, 1);

export const VIEWS: readonly MetricView[] = [
  {
    metric: "memory",
    name: "lease.live_memory",
    unit: null,
    color: "--series-1",
    write: (value) => formatMemory(Math.round(value)),
    tick: (value) => formatNumber(value),
  },
  {
    metric: "compute",
    name: "lease.live_compute",
    unit: "lease.live_of_device",
    color: "--series-3",
    write: (value) => formatShare(Math.round(value)),
    tick: ticks,
  },
  {
    metric: "throttled",
    name: "lease.live_throttled",
    unit: "lease.live_of_time",
    color: "--series-2",
    write: (value) => formatShare(Math.round(value)),
    tick: ticks,
  },
  {
    metric: "power",
    name: "lease.live_power",
    unit: null,
    color: "--series-4",
    write: formatPower,
    tick: (value) => formatNumber(value / 1000, 1),
  },
];

type Slice = { memory_mib: number; share_permille: number };

/** The slice's limit; a share of time ends at all the time; power has none. What the node enforces comes first. */
export function limitOf(metric: Metric, slice: Slice, sample: LeaseSample | null): number | null {
  if (metric === "memory") return sample?.memory_limit_mib ?? slice.memory_mib;
  if (metric === "compute") return sample?.compute_limit_permille ?? slice.share_permille;
  return metric === "throttled" ? 1000 : null;
}

/** The top of the picture: a little over the limit, and over every value. */
export function topOf(limit: number | null, values: readonly (number | null | undefined)[]): number {
  const most = Math.max(limit ?? 0, ...values.map((value) => value ?? 0));
  return most <= 0 ? 1 : most * 1.12;
}

/** So long without a word from the node, and its last values are old. */
export const SILENT_S = 5;

/** The reading as it is to be trusted now: old when the line, or the node, is silent. */
export function trusted(sample: LeaseSample, metric: Metric, isOld: boolean): LiveReading {
  const reading = readingOf(sample, metric);
  return isOld && reading.value !== null ? { ...reading, quality: "stale" } : reading;
}
