import { parseLocal } from "@/lib/time";

export const GROUPS = ["project", "class", "day", "reservation"] as const;
export const RANGES = ["month", "last_month", "7d", "30d", "custom"] as const;
export type Group = (typeof GROUPS)[number];
export type Range = (typeof RANGES)[number];

/** A view of the costs, as its address says it. */
export type CostSearch = {
  group?: Group;
  range?: Range;
  /** First and last day, both included, for `custom`. */
  from?: string;
  to?: string;
  /** What the bars measure. */
  bars?: "money" | "hours";
  q?: string;
  sort?: string;
};

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
const day = (value: unknown) => {
  const found = text(value);
  return found && /^\d{4}-\d{2}-\d{2}$/.test(found) && parseLocal(found) ? found : undefined;
};

export function costSearch(raw: Record<string, unknown>): CostSearch {
  return {
    group: GROUPS.find((one) => one === raw["group"]),
    range: RANGES.find((one) => one === raw["range"]),
    from: day(raw["from"]),
    to: day(raw["to"]),
    bars: raw["bars"] === "hours" ? "hours" : undefined,
    q: text(raw["q"]),
    sort: text(raw["sort"]),
  };
}
