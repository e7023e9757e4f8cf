import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addAmounts, compareAmounts, subtractAmounts } from "@/lib/money";
import { formatClock, formatDuration, formatMemory, formatMoney, formatNumber, formatPower, formatShare, mib } from "@/lib/units";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

describe("quantities on screen", () => {
  it.each([
    [0, "0 MiB"],
    [512, "512 MiB"],
    [1536, "1.5 GiB"],
    [81_920, "80 GiB"],
    [1_048_576, "1 TiB"],
  ])("writes %d MiB as %s", (value, text) => expect(plain(formatMemory(value))).toBe(text));

  it.each([
    [250, "25 %"],
    [125, "12.5 %"],
    [1000, "100 %"],
  ])("writes %d permille as %s", (value, text) => expect(plain(formatShare(value))).toBe(text));

  it("says n/a for what is not known, never zero", () => {
    expect([formatMemory(null), formatShare(null), formatPower(null), formatNumber(null), formatMoney(null, "EUR")]).toEqual(
      Array.from({ length: 5 }, () => "n/a"),
    );
  });

  it.each([
    ["0.3750", "0.375 EUR"],
    ["1234567.5", "1,234,567.50 EUR"],
    ["-0.10", "\u22120.10 EUR"],
    ["0.000001", "0.000001 EUR"],
    ["12345678901234567890.01", "12,345,678,901,234,567,890.01 EUR"],
  ])("writes %s digit for digit", (amount, text) => expect(plain(formatMoney(amount, "EUR"))).toBe(text));

  it.each([
    [0, "0 s"],
    [59, "59 s"],
    [11_100, "3 h 5 min"],
    [90_000, "1 d 1 h"],
    [3_600, "1 h"],
  ])("writes %d s as %s", (seconds, text) => expect(plain(formatDuration(seconds))).toBe(text));

  it("counts down and stops at zero", () => {
    expect([formatClock(3729), formatClock(247), formatClock(0.2), formatClock(-5)]).toEqual(["1:02:09", "4:07", "0:01", "0:00"]);
  });

  it("takes no fraction for a whole quantity", () => expect(() => mib(0.5)).toThrow(RangeError));
});

describe("sums of money", () => {
  it("adds without floats", () => expect(addAmounts("0.10", "0.20", "-0.05")).toBe("0.25"));

  it("keeps what binary fractions would lose", () => {
    expect(subtractAmounts("10000000000000000.02", "0.01")).toBe("10000000000000000.01");
  });

  it("gives back what was added", () => {
    const amounts = fc.integer({ min: -1e9, max: 1e9 }).map((n) => {
      const text = String(Math.abs(n)).padStart(5, "0");
      return `${n < 0 ? "-" : ""}${text.slice(0, -4)}.${text.slice(-4)}`;
    });
    fc.assert(
      fc.property(amounts, amounts, (a, b) => compareAmounts(subtractAmounts(addAmounts(a, b), b), a) === 0),
      { numRuns: 200 },
    );
  });
});
