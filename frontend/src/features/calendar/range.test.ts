import { describe, expect, it } from "vitest";
import { dateOf, hoursOf, isDate, mondayOf, rangeOf, shiftDate, snapDown, ticksOf, turn, withOffset } from "./range";

const BERLIN = "Europe/Berlin";
const day = (date: string, zone = BERLIN) => {
  const [first] = rangeOf("day", date, zone).days;
  if (!first) throw new Error("a day has a day");
  return first;
};

describe("days have their real length", () => {
  it("gives the day on which clocks go forward 23 hours, and no 02:00", () => {
    const short = day("2027-03-28");
    expect(hoursOf(short)).toBe(23);
    const labels = ticksOf(short, BERLIN, 1).map((tick) => tick.label);
    expect(labels).toHaveLength(23);
    expect(labels.slice(0, 4)).toEqual(["00:00", "01:00", "03:00", "04:00"]);
  });

  it("gives the day on which clocks go back 25 hours, and 02:00 twice, told apart by offset", () => {
    const long = day("2026-10-25");
    expect(hoursOf(long)).toBe(25);
    const twice = ticksOf(long, BERLIN, 1).filter((tick) => tick.label === "02:00");
    expect(twice.map((tick) => tick.offset)).toEqual(["UTC+02:00", "UTC+01:00"]);
    expect(new Date(twice[1]?.at ?? 0).toISOString()).toBe("2026-10-25T01:00:00.000Z");
  });

  it("begins a day that has no midnight at its first instant", () => {
    // Chile's clocks go forward at midnight.
    const short = day("2026-09-06", "America/Santiago");
    expect(hoursOf(short)).toBe(23);
    expect(ticksOf(short, "America/Santiago", 1)[0]?.label).toBe("01:00");
  });

  it("draws a week of 167 hours from Monday to Monday", () => {
    const week = rangeOf("week", "2027-03-28", BERLIN);
    expect(week.days.map((one) => one.date)).toEqual([
      "2027-03-22",
      "2027-03-23",
      "2027-03-24",
      "2027-03-25",
      "2027-03-26",
      "2027-03-27",
      "2027-03-28",
    ]);
    expect((week.to - week.from) / 3_600_000).toBe(167);
  });
});

describe("turning pages", () => {
  it("goes by the length of the view", () => {
    expect(turn("day", "2026-12-31", 1)).toBe("2027-01-01");
    expect(turn("3days", "2026-03-01", -1)).toBe("2026-02-26");
    expect(turn("week", "2026-11-29", 1)).toBe("2026-11-30");
  });

  it("knows dates from texts that only look like one", () => {
    expect(isDate("2028-02-29")).toBe(true);
    expect(isDate("2027-02-29")).toBe(false);
    expect(isDate("tomorrow")).toBe(false);
    expect(mondayOf("2026-11-29")).toBe("2026-11-23");
    expect(shiftDate("2027-03-28", 1)).toBe("2027-03-29");
  });
});

describe("instants", () => {
  it("snap to quarters of the clock, also where the offset has one", () => {
    const at = Date.parse("2026-11-30T10:14:59Z");
    expect(new Date(snapDown(at)).toISOString()).toBe("2026-11-30T10:00:00.000Z");
    expect(withOffset(snapDown(at), "Asia/Kathmandu")).toBe("2026-11-30T15:45:00+05:45");
  });

  it("go out with the offset that holds at that instant", () => {
    expect(withOffset(Date.parse("2026-10-25T00:30:00Z"), BERLIN)).toBe("2026-10-25T02:30:00+02:00");
    expect(withOffset(Date.parse("2026-10-25T01:30:00Z"), BERLIN)).toBe("2026-10-25T02:30:00+01:00");
    expect(withOffset(Date.parse("2026-11-30T10:00:00Z"), "UTC")).toBe("2026-11-30T10:00:00+00:00");
    expect(dateOf(Date.parse("2026-11-30T23:30:00Z"), BERLIN)).toBe("2026-12-01");
  });
});
