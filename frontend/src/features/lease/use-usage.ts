import { useQuery } from "@tanstack/react-query";
import { api, dataOf, type Schema } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import { phaseOf, type Reservation } from "@/lib/reservation";

const NONE: readonly Schema<"Window">[] = [];

/** What was metered of the slice, window by window; none before it was placed. */
export function useUsageWindows(reservation: Reservation): readonly Schema<"Window">[] {
  const lease = reservation.lease?.id ?? "";
  const usage = useQuery({
    queryKey: keys.leaseUsage(lease),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/leases/{lease}/usage", { params: { path: { lease } }, signal })),
    enabled: lease !== "",
    refetchInterval: phaseOf(reservation) === "running" ? 20_000 : false,
  });
  return usage.data?.windows ?? NONE;
}
