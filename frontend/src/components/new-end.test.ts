import { expect, test } from "vitest";
import { newEnd } from "@/components/new-end";

const ZONE = "Europe/Berlin";
const NOON = Date.parse("2026-10-24T10:00:00Z");

test("four hours more are four hours, over a change of the clocks too", () => {
  const from = Date.parse("2026-10-24T23:00:00Z");
  expect(newEnd({ kind: "hours", hours: 4 }, from, ZONE).ends_at).toBe("2026-10-25T03:00:00.000Z");
});

test("a time that comes twice needs a choice, and says both offsets", () => {
  const first = newEnd({ kind: "until", local: "2026-10-25T02:30", later: false }, NOON, ZONE);
  const second = newEnd({ kind: "until", local: "2026-10-25T02:30", later: true }, NOON, ZONE);
  expect(first).toEqual({
    ends_at: "2026-10-25T00:30:00.000Z",
    trouble: { kind: "overlap", first: "UTC+02:00", second: "UTC+01:00" },
  });
  expect(second.ends_at).toBe("2026-10-25T01:30:00.000Z");
});

test("a time that clocks jump over is said, with what is meant instead", () => {
  const found = newEnd({ kind: "until", local: "2027-03-28T02:30", later: false }, NOON, ZONE);
  expect(found.trouble?.kind).toBe("gap");
  expect(found.ends_at).toBe("2027-03-28T01:30:00.000Z");
});

test("an end before the booked one is none", () => {
  expect(newEnd({ kind: "until", local: "2026-10-24T11:00", later: false }, NOON, ZONE)).toEqual({
    ends_at: undefined,
    trouble: { kind: "past" },
  });
});
