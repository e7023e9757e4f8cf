/** The price of a class over time, as the server's steps say it. */
import type { Schema } from "@/lib/api";
import { amountToNumber, compareAmounts } from "@/lib/money";

type Step = Schema<"PriceStep">;

export const HOURS_BACK = 24;
const POINTS = 49;

/** The step that holds at an instant; undefined before the first. */
function stepAt(steps: Step[], at: number): Step | undefined {
  return steps.findLast((step) => Date.parse(step.at) <= at);
}

/** A value every half hour of the last day, oldest first; null where nothing was sold. For a drawing only. */
export function lastDay(steps: Step[], now: number): (number | null)[] {
  const begins = now - HOURS_BACK * 3_600_000;
  return Array.from({ length: POINTS }, (_, index) => {
    const price = stepAt(steps, begins + (index * HOURS_BACK * 3_600_000) / (POINTS - 1))?.unit_price ?? null;
    return price === null ? null : amountToNumber(price);
  });
}

/** The lowest and the highest price of the last day; null when there was none. */
export function rangeOf(steps: Step[], now: number): { low: string; high: string } | null {
  const begins = now - HOURS_BACK * 3_600_000;
  const held = [stepAt(steps, begins), ...steps.filter((step) => Date.parse(step.at) > begins && Date.parse(step.at) <= now)];
  const prices = held.flatMap((step) => (step?.unit_price ? [step.unit_price] : [])).sort(compareAmounts);
  const [low] = prices;
  const high = prices.at(-1);
  return low !== undefined && high !== undefined ? { low, high } : null;
}

/** The next change that is published already. */
export const nextStep = (steps: Step[], now: number): Step | null => steps.find((step) => Date.parse(step.at) > now) ?? null;
