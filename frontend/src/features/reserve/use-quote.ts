import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { keyOf } from "@/features/reserve/search";
import { wishOf, type Choice, type Quote } from "@/features/reserve/wish";
import { api, dataOf } from "@/lib/api";
import { serverNow } from "@/lib/clock";
import { Problem, toProblem } from "@/lib/problem";
import { keys } from "@/lib/query-keys";

/** A page that nobody touches asks again this many times, then waits to be asked. */
export const RENEWALS = 10;
/** Somebody who comes back to the tab sees an answer no older than this. */
const FRESH_MS = 20_000;

export type Renewal = { before: Quote; after: Quote };

/** The price per hour moved between the two. */
export const isPriceChanged = ({ before, after }: Renewal): boolean =>
  before.amount_per_hour !== after.amount_per_hour || before.currency !== after.currency;

/** The first one's hold had ended; else it was only looked up again. */
export const isHoldRenewed = ({ before, after }: Renewal): boolean =>
  Date.parse(after.created_at) >= Date.parse(before.expires_at);

export type QuoteState = {
  /** The answer for the choice; while a new one is on its way, the one before it. */
  quote: Quote | null;
  /** The quote answers the present choice and its price is still held. */
  isCurrent: boolean;
  isLoading: boolean;
  isExpired: boolean;
  problem: Problem | null;
  /** The hold ended while looking and was taken anew; null after any change of the choice. */
  renewal: Renewal | null;
  renew: () => Promise<void>;
};

type Seen = { key: string; quote: Quote; renewals: number; renewal: Renewal | null };

function ask(choice: Choice, signal: AbortSignal): Promise<Quote> {
  return dataOf(api.POST("/api/v1/quotes", { body: wishOf(choice, serverNow()), signal }));
}

/**
 * The quote of a choice. A request for an older choice is aborted and its answer is never taken for the newer one's:
 * answers are kept under the choice that they were asked for. `isSettled` false says that the choice is being changed.
 */
export function useQuote(choice: Choice | null, isSettled: boolean): QuoteState {
  const key = choice === null ? "" : keyOf(choice);
  const query = useQuery({
    queryKey: keys.quote({ choice: key }),
    queryFn: ({ signal }) => {
      if (choice === null) throw new Error("a quote was asked for without a choice");
      return ask(choice, signal);
    },
    enabled: choice !== null,
    placeholderData: keepPreviousData,
    staleTime: FRESH_MS,
    gcTime: 0,
    refetchOnWindowFocus: true,
  });
  const { data, isPlaceholderData, isFetching, error, refetch } = query;
  const seen = useSeen(key, isPlaceholderData ? undefined : data);
  const isExpired = useExpiry(data ?? null);
  const isDue = isExpired && isSettled && !isPlaceholderData && !isFetching && error === null;
  const canRenew = seen !== null && seen.renewals < RENEWALS;
  useEffect(() => {
    // A hidden tab asks when it is looked at again: by then its answer counts as old.
    if (isDue && canRenew && document.visibilityState === "visible") void refetch();
  }, [isDue, canRenew, refetch]);
  return {
    quote: choice === null ? null : (data ?? null),
    isCurrent: choice !== null && isSettled && data !== undefined && !isPlaceholderData && !isExpired && error === null,
    isLoading: choice !== null && (isFetching || !isSettled),
    isExpired: isExpired && !isPlaceholderData,
    problem: error === null ? null : toProblem(error),
    renewal: seen?.renewal ?? null,
    renew: async () => {
      await refetch();
    },
  };
}

/** Remembers the quote before, so that a changed price can be shown as old and new. */
function useSeen(key: string, quote: Quote | undefined): Seen | null {
  const [seen, setSeen] = useState<Seen | null>(null);
  if (quote && (seen === null || seen.key !== key)) {
    setSeen({ key, quote, renewals: 0, renewal: null });
  } else if (quote && seen !== null && seen.quote.id !== quote.id) {
    const renewal = { before: seen.quote, after: quote };
    setSeen({ key, quote, renewals: seen.renewals + 1, renewal });
  }
  return seen?.key === key ? seen : null;
}

/** True once the hold is over by the server's clock. */
function useExpiry(quote: Quote | null): boolean {
  const [ended, setEnded] = useState<string | null>(null);
  const id = quote?.id ?? null;
  const until = quote?.expires_at;
  useEffect(() => {
    if (id === null || until === undefined) return undefined;
    const timer = setTimeout(() => setEnded(id), Math.max(0, Date.parse(until) - serverNow()));
    return () => clearTimeout(timer);
  }, [id, until]);
  return id !== null && ended === id;
}
