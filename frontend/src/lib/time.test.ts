import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addDays, offsetText, parseLocal, startOfDay, toInstant, toLocalText, zonedParts } from "@/lib/time";

const ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"];
const zones = fc.constantFrom(...ZONES);
// 1990 to 2049, whole minutes.
const instants = fc.integer({ min: 10_519_200, max: 41_550_000 }).map((minutes) => minutes * 60_000);
const candidates = (local: string, zone: string) => {
  const found = toInstant(local, zone);
  return found.kind === "one" ? [found.at] : found.kind === "overlap" ? [found.earlier, found.later] : [];
};

describe("wall clocks and instants", () => {
  it("leads every instant to its wall clock and back", () => {
    fc.assert(
      fc.property(instants, zones, (ms, zone) => {
        expect(candidates(toLocalText(ms, zone), zone).map(Number)).toContain(ms);
      }),
      { numRuns: 400 },
    );
  });

  it("gives only instants that show the wall clock asked for", () => {
    fc.assert(
      fc.property(instants, zones, (ms, zone) => {
        const local = toLocalText(ms, "UTC");
        for (const at of candidates(local, zone)) expect(toLocalText(at, zone)).toBe(local);
      }),
      { numRuns: 400 },
    );
  });

  it.each([
    ["Europe/Berlin", "2026-03-29T02:30", "2026-03-29T03:30"],
    ["America/New_York", "2026-03-08T02:30", "2026-03-08T03:30"],
    ["Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-04T02:45"],
  ])("finds no %s instant at %s and names the one beside it", (zone, local, shown) => {
    const found = toInstant(local, zone);
    expect(found.kind).toBe("gap");
    if (found.kind === "gap") expect(toLocalText(found.shifted, zone)).toBe(shown);
  });

  it.each([
    ["Europe/Berlin", "2026-10-25T02:30", 60],
    ["America/New_York", "2026-11-01T01:30", 60],
    ["Australia/Lord_Howe", "2026-04-05T01:45", 30],
  ])("finds two %s instants at %s, %d minutes apart", (zone, local, minutes) => {
    const found = toInstant(local, zone);
    expect(found.kind).toBe("overlap");
    if (found.kind === "overlap") expect(found.later.getTime() - found.earlier.getTime()).toBe(minutes * 60_000);
  });

  it("has one instant for each minute of a day without a change", () => {
    for (let hour = 0; hour < 24; hour += 1) {
      const local = `2026-06-15T${String(hour).padStart(2, "0")}:30`;
      for (const zone of ZONES) expect(toInstant(local, zone).kind).toBe("one");
    }
  });

  it("knows days of 23 and 25 hours", () => {
    const hours = (day: string) => {
      const start = startOfDay(`${day}T12:00:00+01:00`, "Europe/Berlin");
      return (addDays(start, 1, "Europe/Berlin").getTime() - start.getTime()) / 3_600_000;
    };
    expect([hours("2026-03-29"), hours("2026-10-25"), hours("2026-06-01")]).toEqual([23, 25, 24]);
  });

  it("keeps the wall clock over a change", () => {
    const nine = new Date("2026-10-24T07:00:00Z");
    expect(toLocalText(addDays(nine, 7, "Europe/Berlin"), "Europe/Berlin")).toBe("2026-10-31T09:00");
  });

  it("tells half-hour offsets", () => {
    expect(zonedParts("2026-01-01T00:00:00Z", "Asia/Kolkata")).toMatchObject({ hour: 5, minute: 30, offset_minutes: 330 });
    expect(offsetText("2026-01-01T00:00:00Z", "Asia/Kolkata")).toBe("UTC+05:30");
    expect(offsetText("2026-01-01T00:00:00Z", "America/New_York")).toBe("UTC-05:00");
  });

  it.each(["2026-02-30T10:00", "2026-13-01T00:00", "tomorrow", "2026-01-01T25:00"])("refuses %s", (text) => {
    expect(parseLocal(text)).toBeNull();
    expect(() => toInstant(text, "UTC")).toThrow(RangeError);
  });
});
