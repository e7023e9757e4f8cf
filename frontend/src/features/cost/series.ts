import { deviceHours, type CostFigures } from "@/features/cost/use-costs";
import type { MessageKey } from "@/lib/i18n";
import { amountToNumber } from "@/lib/money";

/** The parts that an amount consists of, in the order in which bars stack them. */
export const PARTS = ["used", "idle", "unread", "reserved"] as const;
export type Part = (typeof PARTS)[number];

export const PART_NAMES: Record<Part, MessageKey> = {
  used: "cost.used",
  idle: "cost.idle",
  unread: "cost.unread",
  reserved: "cost.reserved",
};

export const PART_COLOURS: Record<Part, string> = {
  used: "var(--series-1)",
  idle: "var(--series-2)",
  unread: "var(--series-5)",
  reserved: "var(--series-4)",
};

export type Measure = "money" | "hours";

/** A part as a number for a drawing; null where it is not known. */
export function partOf(figures: CostFigures, part: Part, measure: Measure): number | null {
  if (measure === "hours") return deviceHours(figures[`${part}_permille_s`]);
  const amount = figures[`amount_${part}`];
  return amount === null ? null : amountToNumber(amount);
}

/** All parts together. */
export const heightOf = (figures: CostFigures, measure: Measure): number =>
  PARTS.reduce((sum, part) => sum + (partOf(figures, part, measure) ?? 0), 0);

/** A round number at or above a value, and the step of its grid: 7.3 -> 8 by 2. */
export function roundTop(value: number): { top: number; step: number } {
  if (value <= 0) return { top: 1, step: 0.25 };
  const rough = value / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  return { top: Math.ceil(value / step - 1e-9) * step, step };
}

/** The parts one upon the other: where each begins and ends. */
export function stackOf(figures: CostFigures, measure: Measure): { part: Part; from: number; to: number }[] {
  let floor = 0;
  return PARTS.flatMap((part) => {
    const from = floor;
    floor += Math.max(0, partOf(figures, part, measure) ?? 0);
    return floor > from ? [{ part, from, to: floor }] : [];
  });
}
