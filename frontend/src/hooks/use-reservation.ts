import { queryOptions } from "@tanstack/react-query";
import { api, dataOf, type Schema } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import { isDelivering, phaseOf, type Reservation } from "@/lib/reservation";

/** The socket tells of changes; this often the figures (cost, queue) are read anyway. */
const OFTEN_MS = 15_000;
/** So often where something is about to happen. */
const SOON_MS = 3_000;

function nextReading(reservation: Reservation | undefined): number | false {
  if (!reservation || phaseOf(reservation) === "ended") return false;
  const isUnderWay = phaseOf(reservation) === "running" && !isDelivering(reservation);
  return isUnderWay ? SOON_MS : OFTEN_MS;
}

export const reservationQuery = (id: string) =>
  queryOptions({
    queryKey: keys.reservation(id),
    queryFn: ({ signal }) =>
      dataOf(api.GET("/api/v1/reservations/{reservation}", { params: { path: { reservation: id } }, signal })),
    refetchInterval: (query) => nextReading(query.state.data),
  });

/** Oldest first. */
export const reservationEventsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.reservationEvents(id),
    queryFn: async ({ signal }): Promise<Schema<"ReservationEvent">[]> => {
      const params = { path: { reservation: id }, query: { limit: 200 } };
      const page = await dataOf(api.GET("/api/v1/reservations/{reservation}/events", { params, signal }));
      return [...page.items].sort((a, b) => a.version - b.version);
    },
  });
