import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import { phaseOf, type Reservation } from "@/lib/reservation";

/** More than these stand in the list of reservations. */
const MOST = 100;

const END_OF_TIME = Number.POSITIVE_INFINITY;
const endOf = (reservation: Reservation) => (reservation.ends_at ? Date.parse(reservation.ends_at) : END_OF_TIME);

/** What has not ended: what runs (soonest end first), and what is ahead (soonest start first). */
export function useUnderWay() {
  const filters = { state: ["live"], limit: MOST };
  return useQuery({
    queryKey: keys.reservations(filters),
    refetchInterval: 30_000,
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/reservations", { params: { query: filters }, signal })),
    select: ({ items, next }) => ({
      running: items.filter((item) => phaseOf(item) === "running").sort((a, b) => endOf(a) - endOf(b)),
      ahead: items.filter((item) => phaseOf(item) !== "running").sort((a, b) => Date.parse(a.starts_at) - Date.parse(b.starts_at)),
      isMore: next !== null,
    }),
  });
}

/** The newest reservation, whatever became of it; null for who has none yet. */
export function useLast() {
  const filters = { limit: 1 };
  return useQuery({
    queryKey: keys.reservations(filters),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/reservations", { params: { query: filters }, signal })),
    select: ({ items }) => items[0] ?? null,
  });
}

export function useQuotas() {
  return useQuery({
    queryKey: keys.quotas,
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/quotas", { params: { query: { limit: 200 } }, signal })),
    refetchInterval: 60_000,
  });
}
