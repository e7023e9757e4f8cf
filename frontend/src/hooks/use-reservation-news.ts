import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLiveTopic, type LiveTopic } from "@/hooks/use-live-topic";
import { keys } from "@/lib/query-keys";

type News = { reservation: string; state: string; version: number };

/** Many changes at once make one reading of the lists. */
const TOGETHER_MS = 300;

/** Reads reservations again as they change, while the component is shown. */
export function useReservationNews(): LiveTopic {
  const client = useQueryClient();
  const waiting = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (waiting.current !== null) clearTimeout(waiting.current);
    },
    [],
  );
  const readLists = () => {
    waiting.current ??= setTimeout(() => {
      waiting.current = null;
      void client.invalidateQueries({ queryKey: [...keys.allReservations, "list"] });
    }, TOGETHER_MS);
  };
  return useLiveTopic<News>("reservations", {
    onDelta: ({ reservation }) => {
      void client.invalidateQueries({ queryKey: keys.reservation(reservation) });
      void client.invalidateQueries({ queryKey: keys.reservationEvents(reservation) });
      readLists();
    },
    onGap: () => void client.invalidateQueries({ queryKey: keys.allReservations }),
  });
}
