import { expect, it } from "vitest";
import { instantOf, whenOf } from "./when";

const BERLIN = "Europe/Berlin";

it("refuses a time that clocks jump over, and says what they show instead", () => {
  const when = whenOf({ local: "2027-03-28T02:30", which: null }, BERLIN);
  expect(when).toEqual({ kind: "gap", hint: Date.parse("2027-03-28T03:30:00+02:00") });
  expect(instantOf(when)).toBeNull();
});

it("asks which one is meant of a time that comes twice", () => {
  const local = "2026-10-25T02:30";
  expect(whenOf({ local, which: null }, BERLIN).kind).toBe("twice");
  expect(instantOf(whenOf({ local, which: "earlier" }, BERLIN))).toBe(Date.parse("2026-10-25T02:30:00+02:00"));
  expect(instantOf(whenOf({ local, which: "later" }, BERLIN))).toBe(Date.parse("2026-10-25T02:30:00+01:00"));
});

it("takes any other time as it is, and no other text", () => {
  expect(instantOf(whenOf({ local: "2026-11-30T09:15", which: "later" }, BERLIN))).toBe(
    Date.parse("2026-11-30T09:15:00+01:00"),
  );
  expect(whenOf({ local: "", which: null }, BERLIN).kind).toBe("empty");
  expect(whenOf({ local: "2026-02-30T09:00", which: null }, BERLIN).kind).toBe("unreadable");
});
