import { expect, test } from "vitest";
import type { LeaseSample } from "@/features/lease/lease-sample";
import { addSample, columns, EMPTY, SPAN_S, windowSteps } from "@/features/lease/live-series";
import { makeSample, makeWindow } from "@/test/reservations";

const START = Date.parse("2026-11-29T12:00:00Z") / 1000;
const iso = (s: number) => new Date((START + s) * 1000).toISOString();
const at = (s: number, over: object = {}) => makeSample(over, iso(s)) as LeaseSample;
const fed = (...samples: LeaseSample[]) => samples.reduce(addSample, EMPTY);
const values = (points: readonly { value: number | null }[]) => points.map((point) => point.value);

test("silence between two samples is a gap, not a line", () => {
  const series = fed(at(0), at(0.5), at(6));
  expect(values(series.memory)).toEqual([512, 512, null, 512]);
});

test("a value that nobody can read is a gap and never zero", () => {
  const series = fed(at(0, { compute_permille: { value: null, at: null, quality: "unavailable" } }));
  expect(values(series.compute)).toEqual([null]);
});

test("an old value that is told again is no new point", () => {
  const series = fed(at(0), at(0.5, { memory_mib: { value: 512, at: iso(0), quality: "stale" } }));
  expect(values(series.memory)).toEqual([512, null]);
});

test("a sample that was overtaken changes nothing", () => {
  expect(fed(at(1), at(0.5)).memory).toHaveLength(1);
});

test("five minutes are kept and no more", () => {
  const samples = Array.from({ length: 800 }, (_, index) => at(index * 0.5));
  const { memory } = fed(...samples);
  expect(memory).toHaveLength(SPAN_S * 2 + 1);
  expect(memory.at(-1)?.at).toBe(START + 399.5);
});

test("metered windows fill the time before the first live value, with a gap where one is missing", () => {
  const live = fed(at(0)).compute;
  const windows = [
    makeWindow({ window_start: iso(-60), used_permille_s: 6_000 }),
    makeWindow({ window_start: iso(-240), used_permille_s: 12_000 }),
    makeWindow({ window_start: iso(-30), used_permille_s: 60_000 }),
  ];
  // The last one reaches into the time that is known live.
  expect(values(windowSteps(windows, "compute", live, START))).toEqual([200, 200, null, 100, 100]);
});

test("a window without a throttle figure is a gap in the throttle line", () => {
  const windows = [makeWindow({ window_start: iso(-60), throttled_ms: null })];
  expect(values(windowSteps(windows, "throttled", [], START))).toEqual([null, null]);
});

test("two lines share one column of times: no point of one breaks the other", () => {
  const [times, live, metered] = columns([{ at: 2, value: 5 }], [{ at: 1, value: 4 }, { at: 2, value: null }]);
  expect([times, live, metered]).toEqual([[1, 2], [undefined, 5], [4, null]]);
});
