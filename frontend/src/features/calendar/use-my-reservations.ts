import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import type { Reservation } from "@/lib/reservation";

/** A thousand at most: nobody reads more in a calendar. */
const PAGES = 5;
const LIVE = { state: ["live"], limit: 200 };

async function readLive(signal: AbortSignal): Promise<Reservation[]> {
  const found: Reservation[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const read = await dataOf(api.GET("/api/v1/reservations", { params: { query: { ...LIVE, cursor } }, signal }));
    found.push(...read.items);
    if (read.next === null) break;
    cursor = read.next;
  }
  return found;
}

/** What the viewer may see that has not ended. */
export const useMyReservations = () =>
  useQuery({
    queryKey: keys.reservations({ calendar: "live" }),
    queryFn: ({ signal }) => readLive(signal),
    refetchInterval: 60_000,
  });
