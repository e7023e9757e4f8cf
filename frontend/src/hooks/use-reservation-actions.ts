import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useOneKey } from "@/hooks/use-one-key";
import { api, dataOf, type Schema } from "@/lib/api";
import type { Problem } from "@/lib/problem";
import { keys } from "@/lib/query-keys";
import type { Reservation } from "@/lib/reservation";

type Slice = Schema<"SliceInRequest">;
type Change<Input> = UseMutationResult<Reservation, Problem, Input>;

/** The server's answer is what is shown from then on; the lists and the history are read again. */
function useChange<Input extends object>(id: string, send: (input: Input, key: string) => Promise<Reservation>): Change<Input> {
  const client = useQueryClient();
  const keyFor = useOneKey();
  return useMutation<Reservation, Problem, Input>({
    mutationFn: (input) => send(input, keyFor({ id, ...input })),
    onSuccess: (answer) => {
      keyFor.done();
      client.setQueryData(keys.reservation(id), answer);
      void client.invalidateQueries({ queryKey: keys.allReservations });
      void client.invalidateQueries({ queryKey: keys.quotas });
    },
    // Somebody else, or the clock, was quicker: show what is true now.
    onError: () => void client.invalidateQueries({ queryKey: keys.reservation(id) }),
  });
}

const path = (id: string) => ({ path: { reservation: id } });
const keyed = (id: string, key: string) => ({ ...path(id), header: { "Idempotency-Key": key } });

export const useResize = (id: string): Change<{ slice: Slice }> =>
  useChange(id, (body, key) =>
    dataOf(api.POST("/api/v1/reservations/{reservation}/resize", { params: keyed(id, key), body })),
  );

export const useExtend = (id: string): Change<{ ends_at: string | null }> =>
  useChange(id, (body, key) =>
    dataOf(api.POST("/api/v1/reservations/{reservation}/extend", { params: keyed(id, key), body })),
  );

/** Releasing twice is fine. */
export const useRelease = (id: string): Change<object> =>
  useChange(id, () => dataOf(api.POST("/api/v1/reservations/{reservation}/release", { params: path(id) })));

export const useStartEarlier = (id: string): Change<object> =>
  useChange(id, (_, key) =>
    dataOf(api.POST("/api/v1/reservations/{reservation}/start-earlier", { params: keyed(id, key) })),
  );

/** "" takes the name away. */
export const useRename = (id: string): Change<{ name: string }> =>
  useChange(id, (body) => dataOf(api.PATCH("/api/v1/reservations/{reservation}", { params: path(id), body })));
