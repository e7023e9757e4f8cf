import { expect, test } from "vitest";
import { betterSize, explain, recentWindows, throttledPermille } from "@/features/lease/slowness";
import { makeWindow } from "@/test/reservations";

const SLICE = { memory_mib: 1024, share_permille: 250 };
const DEVICE = { memory_mib: 4096, share_permille: 1000 };

test("held back two thirds of the time: more compute is what helps", () => {
  const windows = [makeWindow({ throttled_ms: 40_000 })];
  const [finding] = explain(windows, SLICE);
  expect(finding).toEqual({ kind: "throttled", permille: 667, share_permille: 250 });
  expect(finding && betterSize(finding, SLICE, DEVICE)).toEqual({ memory_mib: 1024, share_permille: 375 });
});

test("a slice that has the whole device cannot grow", () => {
  const whole = { memory_mib: 4096, share_permille: 1000 };
  expect(betterSize({ kind: "throttled", permille: 900, share_permille: 1000 }, whole, DEVICE)).toBeNull();
});

test("a busy node is told as the node's fault", () => {
  const windows = [makeWindow({ contended: true }), makeWindow()];
  expect(explain(windows, SLICE)).toEqual([{ kind: "contended", windows: 1, of: 2 }]);
});

test("little used and never held back: it waits for something else", () => {
  expect(explain([makeWindow({ used_permille_s: 3_000 })], SLICE)).toEqual([
    { kind: "unused", used_permille: 50, share_permille: 250 },
  ]);
});

test("nothing metered is unknown, not fine", () => {
  expect(explain([], SLICE)).toEqual([{ kind: "unknown" }]);
});

test("where throttling cannot be read it is not taken for zero", () => {
  expect(throttledPermille([makeWindow({ throttled_ms: null })])).toBeNull();
});

test("full memory is said, with room to grow", () => {
  const [finding] = explain([makeWindow({ peak_mib: 1020 })], SLICE);
  expect(finding?.kind).toBe("memory_full");
  expect(finding && betterSize(finding, SLICE, DEVICE)).toEqual({ memory_mib: 1536, share_permille: 250 });
});

test("only the last quarter of an hour counts", () => {
  const old = makeWindow({ window_start: new Date(Date.now() - 7_200_000).toISOString() });
  expect(recentWindows([old, makeWindow()], Date.now())).toHaveLength(1);
});
