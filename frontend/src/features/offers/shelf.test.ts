import { expect, test } from "vitest";
import { lastDay, nextStep, rangeOf } from "@/features/offers/price-line";
import { groupOffers, matches, soldOf } from "@/features/offers/shelf";
import { partOfAmount } from "@/lib/money";
import { makeDevice, makeOffer } from "@/test/make-shelf";

const NOW = Date.parse("2026-11-29T12:00:00Z");
const STEPS = [
  { at: "2026-11-28T12:00:00Z", unit_price: "1.5000000000" },
  { at: "2026-11-29T00:00:00Z", unit_price: null },
  { at: "2026-11-29T06:00:00Z", unit_price: "0.5000000000" },
  { at: "2026-11-30T00:00:00Z", unit_price: "2.0000000000" },
];

test("a line of steps is held until the next, and a time without a price is a gap", () => {
  const line = lastDay(STEPS, NOW);
  expect(line).toHaveLength(49);
  expect([line[0], line[23], line[24], line[35], line[36], line[48]]).toEqual([1.5, 1.5, null, null, 0.5, 0.5]);
  expect(rangeOf(STEPS, NOW)).toEqual({ low: "0.5000000000", high: "1.5000000000" });
  expect(nextStep(STEPS, NOW)).toMatchObject({ unit_price: "2.0000000000" });
  expect(rangeOf([], NOW)).toBeNull();
});

test("an offer's price is its larger share of the largest device of the class", () => {
  const offer = makeOffer({ slice: { memory_mib: 8192, share_permille: 250 } });
  expect(soldOf(offer, [makeDevice()]).per_hour).toBe("0.75");
  expect(soldOf(offer, [makeDevice(), makeDevice({ id: "dev_2", capacity_mib: 32_768 })]).per_hour).toBe("0.375");
  expect(soldOf(makeOffer({ price: null }), [makeDevice()]).per_hour).toBeNull();
});

test("what has no price or no start comes last", () => {
  const none = soldOf(makeOffer({ id: "off_2", price: null, earliest_start_at: null }), []);
  const some = soldOf(makeOffer(), []);
  for (const sort of ["cheapest", "soonest"] as const) {
    expect(groupOffers([none, some], sort)[0]?.rows.map((row) => row.offer.id)).toEqual([some.offer.id, "off_2"]);
  }
});

test("parts of amounts are exact and rounded once", () => {
  expect(partOfAmount("3.6000000000", 125)).toBe("0.45");
  expect(partOfAmount("0.3333333333", 333)).toBe("0.111");
  expect(partOfAmount("0.0001000000", 500)).toBe("0.0001");
  expect(partOfAmount("-1.5", 333)).toBe("-0.4995");
});

test("every word of a filter must be there", () => {
  expect(matches("NVIDIA GPU 1/4 Simulated", "nvidia 1/4")).toBe(true);
  expect(matches("NVIDIA GPU 1/4", "opencl 1/4")).toBe(false);
});
