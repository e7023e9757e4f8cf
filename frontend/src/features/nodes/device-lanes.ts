/** A device's calendar as bars: which row, from where to where, in per cent of the range. */
import type { Schema } from "@/lib/api";

export type Taken = Schema<"Taken">;
export type Bar = { taken: Taken; lane: number; left: number; width: number };

export function barsOf(items: readonly Taken[], from: number, to: number): { bars: Bar[]; lanes: number } {
  const busyUntil: number[] = [];
  const bars: Bar[] = [];
  const inOrder = [...items].sort((a, b) => Date.parse(a.starts_at) - Date.parse(b.starts_at));
  for (const taken of inOrder) {
    const starts = Math.max(from, Date.parse(taken.starts_at));
    const ends = Math.min(to, taken.ends_at === null ? to : Date.parse(taken.ends_at));
    if (ends <= starts) continue;
    const free = busyUntil.findIndex((until) => until <= starts);
    const lane = free < 0 ? busyUntil.length : free;
    busyUntil[lane] = ends;
    bars.push({ taken, lane, left: ((starts - from) / (to - from)) * 100, width: ((ends - starts) / (to - from)) * 100 });
  }
  return { bars, lanes: busyUntil.length };
}
