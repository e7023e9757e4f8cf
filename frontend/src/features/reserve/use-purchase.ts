import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useState, useSyncExternalStore } from "react";
import { Buyer, type Bought, type PurchaseState } from "@/features/reserve/buyer";
import type { PurchaseBody } from "@/features/reserve/intent";
import { useMe } from "@/hooks/use-me";
import { api, dataOf } from "@/lib/api";
import { keys } from "@/lib/query-keys";

export type Purchase = {
  state: PurchaseState;
  /** The choice must not change: one intent at a time. */
  isOpen: boolean;
  buy: (body: PurchaseBody) => void;
  tryAgain: () => void;
  dismiss: () => void;
};

/** Buys, and finds out what became of it, whatever the network does. `onBought` is called once, while shown. */
export function usePurchase(onBought: (bought: Bought) => void): Purchase {
  const { user } = useMe();
  const cache = useQueryClient();
  const [buyer] = useState(
    () =>
      new Buyer(
        ({ key, body }) =>
          dataOf(api.POST("/api/v1/reservations", { params: { header: { "Idempotency-Key": key } }, body })),
        user,
      ),
  );
  const state = useSyncExternalStore(buyer.state.subscribe, buyer.state.get);
  const bought = useEffectEvent((made: Bought) => {
    void cache.invalidateQueries({ queryKey: keys.allReservations });
    onBought(made);
  });
  const online = useEffectEvent(() => buyer.wake());
  useEffect(() => {
    const detach = buyer.attach((made) => bought(made));
    const listener = () => online();
    window.addEventListener("online", listener);
    return () => {
      window.removeEventListener("online", listener);
      detach();
    };
  }, [buyer]);
  return {
    state,
    isOpen: state.kind === "sending" || state.kind === "unsure",
    buy: (body) => buyer.buy(body),
    tryAgain: () => buyer.tryAgain(),
    dismiss: () => buyer.dismiss(),
  };
}
