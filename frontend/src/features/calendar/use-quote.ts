import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { api, dataOf, type Schema } from "@/lib/api";
import { serverNow } from "@/lib/clock";
import type { Problem } from "@/lib/problem";
import { keys } from "@/lib/query-keys";
import type { Chosen } from "./drawing";
import type { Size } from "./types";

export type Quote = Schema<"Quote">;

/** A "no" is looked up again this often while it is on screen: others give back what they had. */
const AGAIN_MS = 15_000;

const isoOf = (at: number): string => new Date(at).toISOString();

/** What is asked of the server; a start that has come is "now". */
export function wishOf(chosen: Chosen, size: Size, project: string, now: number): Schema<"QuoteInRequest"> {
  return {
    project,
    slice: size,
    device: chosen.device,
    starts_at: chosen.from <= now ? null : isoOf(chosen.from),
    ends_at: isoOf(chosen.to),
  };
}

function untilNext(quote: Quote | undefined): number | false {
  if (!quote) return false;
  return quote.fits ? Math.max(1_000, Date.parse(quote.expires_at) - serverNow()) : AGAIN_MS;
}

/** The price of what is chosen, held for two minutes and taken anew when that is over. */
export function useQuote(chosen: Chosen | null, size: Size, project: string | null): UseQueryResult<Quote, Problem> {
  return useQuery<Quote, Problem>({
    queryKey: keys.quote({ calendar: chosen, size, project }),
    queryFn: ({ signal }) => {
      if (!chosen || project === null) throw new Error("nothing was chosen");
      return dataOf(api.POST("/api/v1/quotes", { body: wishOf(chosen, size, project, serverNow()), signal }));
    },
    enabled: chosen !== null && project !== null,
    refetchInterval: (query) => untilNext(query.state.data),
    staleTime: AGAIN_MS,
    gcTime: 0,
  });
}
