import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Group } from "@/features/cost/cost-search";
import type { Period } from "@/features/cost/period";
import { api, dataOf, type Schema } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import { toLocalText } from "@/lib/time";

export type Costs = Schema<"Costs">;
export type CostItem = Schema<"CostItem">;
export type CostFigures = Schema<"CostFigures">;

/** Costs of a period by one of the groups, all from one snapshot. The last answer stays while the next is fetched. */
export function useCosts(period: Period, group: Group, enabled = true) {
  const query = { from: period.from, to: period.to, group };
  return useQuery({
    queryKey: keys.costs(query),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/costs", { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
    enabled,
  });
}

/** Days that have begun: one to come has no cost of zero, it has none. */
export function begunDays(costs: Costs): Costs {
  const today = toLocalText(costs.as_of, costs.zone).slice(0, 10);
  return { ...costs, items: costs.items.filter((item) => item.key <= today) };
}

/** Where the same figures are to be had as CSV. */
export function csvPath(period: Period, group: Group): string {
  const query = new URLSearchParams({ from: period.from, to: period.to, group });
  return `/api/v1/costs.csv?${query}`;
}

/** Permille-seconds of a device as device-hours; null stays unknown. */
export const deviceHours = (permilleSeconds: number | null): number | null =>
  permilleSeconds === null ? null : permilleSeconds / 3_600_000;
