import { expect, test } from "vitest";
import { timelineOf } from "@/features/lease/timeline";
import { inSeconds, makeLease, makeQueued, makeReservation } from "@/test/reservations";

const booked = { to_state: "confirmed", at: inSeconds(-1900) } as const;
const begun = { to_state: "activating", at: inSeconds(-1801) } as const;
const words = (...args: Parameters<typeof timelineOf>) => timelineOf(...args).map((step) => `${step.name} ${step.status}`);

test("a running slice has three steps behind it and its end ahead", () => {
  const reservation = makeReservation();
  const steps = timelineOf(reservation, [booked, begun]);
  expect(steps.map((step) => step.status)).toEqual(["done", "done", "done", "current", "ahead"]);
  expect(steps[1]?.at).toBe(booked.at);
  expect(steps[4]?.at).toBe(reservation.ends_at);
});

test("what waits in line has nothing behind it", () => {
  expect(words(makeQueued(), [])).toEqual([
    "asked current",
    "booked ahead",
    "preparing ahead",
    "ready ahead",
    "ended ahead",
  ]);
});

test("a booking that was cancelled never came to prepare", () => {
  const cancelled = makeReservation({ state: "cancelled", lease: makeLease({ ready_at: null }), ended_at: inSeconds(0) });
  expect(words(cancelled, [booked])).toEqual([
    "asked done",
    "booked done",
    "preparing skipped",
    "ready skipped",
    "ended done",
  ]);
});

test("a failure is told at the end of the way", () => {
  expect(words(makeReservation({ state: "failed", ended_at: inSeconds(0) }), [booked, begun]).at(-1)).toBe("ended failed");
});
