import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { withFigures, type Figures, type Fleet } from "@/features/fleet/model";
import { useLiveTopic, type TopicStatus } from "@/hooks/use-live-topic";
import { api, dataOf } from "@/lib/api";
import { keys } from "@/lib/query-keys";

/** Slices that begin and end are seen after this; the figures of devices come by the socket. */
const AGAIN_MS = 15_000;
/** A rack that is drained changes many nodes at once. */
const TOGETHER_MS = 500;

export const useFleet = () =>
  useQuery({
    queryKey: keys.fleet,
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/fleet", { signal })),
    refetchInterval: AGAIN_MS,
    // A thousand rows that did not change need no comparing: the map looks for itself.
    structuralSharing: false,
  });

/** Puts the figures that the socket tells into the fleet, and reads it again when nodes change. */
export function useFleetNews(): TopicStatus {
  const client = useQueryClient();
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  const readAgain = () => {
    clearTimeout(waiting.current);
    waiting.current = setTimeout(() => void client.invalidateQueries({ queryKey: keys.fleet }), TOGETHER_MS);
  };
  const put = ({ devices }: { devices: Figures[] }) =>
    client.setQueryData<Fleet>(keys.fleet, (before) => before && withFigures(before, devices));
  return useLiveTopic<unknown, { devices: Figures[] }>("fleet", { onDelta: readAgain, onGap: readAgain, onMetrics: put }).status;
}
