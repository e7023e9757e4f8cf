import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLiveTopic, type TopicStatus } from "@/hooks/use-live-topic";
import { api, dataOf } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import type { Span } from "./range";
import type { Size } from "./types";

/** Others' bookings that the socket does not tell of are seen after this. */
const AGAIN_MS = 30_000;
/** Changes come in swarms. */
const TOGETHER_MS = 400;

const isoOf = (at: number): string => new Date(at).toISOString();

/** Everything on the devices in a range, and where a size fits: one snapshot. */
export function useAvailability(range: Span, size: Size) {
  const query = { from: isoOf(range.from), to: isoOf(range.to), ...size };
  return useQuery({
    queryKey: keys.availability(query),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/availability", { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
    staleTime: 5_000,
  });
}

/** Reads the calendar again as reservations change, the viewer's own and those that the fleet tells of. */
export function useCalendarNews(): TopicStatus {
  const client = useQueryClient();
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  const readAgain = () => {
    clearTimeout(waiting.current);
    waiting.current = setTimeout(() => {
      void client.invalidateQueries({ queryKey: keys.availability() });
      void client.invalidateQueries({ queryKey: [...keys.allReservations, "list"] });
    }, TOGETHER_MS);
  };
  return useLiveTopic("reservations", { onDelta: readAgain, onGap: readAgain }).status;
}
