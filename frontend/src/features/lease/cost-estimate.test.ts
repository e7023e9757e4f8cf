import { expect, test } from "vitest";
import { amountAfter } from "@/features/lease/cost-estimate";

test("half an hour costs half of what an hour costs", () => {
  expect(amountAfter("1.50", "0.3750", 1_800_000)).toBe("1.6875");
});

test("a clock that runs backwards gives no money back", () => {
  expect(amountAfter("1.5", "0.3750", -60_000)).toBe("1.5000");
});

test("large amounts keep every digit, where a float would lose some", () => {
  expect(amountAfter("90071992547409.93", "0.0003", 3_600_000)).toBe("90071992547409.9303");
});

test("what is no amount is refused, not counted as nothing", () => {
  expect(() => amountAfter("n/a", "1", 0)).toThrow(RangeError);
});
