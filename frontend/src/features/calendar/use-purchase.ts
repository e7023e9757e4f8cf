import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useOneKey } from "@/hooks/use-one-key";
import { api, dataOf, type Schema } from "@/lib/api";
import type { Problem } from "@/lib/problem";
import { keys } from "@/lib/query-keys";
import type { Quote } from "./use-quote";

export type Bought = Schema<"Reservation">;
type Intent = { quote: Quote; name: string };

/** These end what the quote promised: another quote says what holds now. */
const OVER = new Set(["no_capacity", "quote_expired", "quote_used", "quote_refused", "quota_exceeded", "no_price"]);

/** Takes a quote up. Pressed again after a broken connection it is the same purchase, by its key. */
export function usePurchase(onBought: (bought: Bought) => void) {
  const client = useQueryClient();
  const keyOf = useOneKey();
  return useMutation<Bought, Problem, Intent>({
    mutationFn: ({ quote, name }) => {
      const body = { quote: quote.id, name, queue: false };
      const header = { "Idempotency-Key": keyOf(body) };
      return dataOf(api.POST("/api/v1/reservations", { params: { header }, body }));
    },
    onSuccess: (bought) => {
      void client.invalidateQueries({ queryKey: keys.allReservations });
      onBought(bought);
    },
    onError: (problem) => {
      if (OVER.has(problem.code)) void client.invalidateQueries({ queryKey: keys.quote({}).slice(0, 1) });
    },
    // Won or lost, the row is not what it was.
    onSettled: () => void client.invalidateQueries({ queryKey: keys.availability() }),
  });
}
