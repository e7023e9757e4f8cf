import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useDebouncedValue } from "@mantine/hooks";
import { api, dataOf, type Schema } from "@/lib/api";
import type { Problem } from "@/lib/problem";
import { keys } from "@/lib/query-keys";

type ChangeQuote = Schema<"ChangeQuote">;
export type ChangeQuoteAnswer = UseQueryResult<ChangeQuote, Problem> & {
  /** What is shown is of an earlier choice: the answer to this one is on its way. */
  isOld: boolean;
};

/** A slider's way is not asked about, only where it rests. */
const REST_MS = 120;

/** Nothing is held by the answer: it is read again while it is looked at. */
const AGAIN_MS = 20_000;

function useChangeQuote(name: string, id: string, body: object | null, ask: (signal: AbortSignal) => Promise<ChangeQuote>): ChangeQuoteAnswer {
  const [asked] = useDebouncedValue(JSON.stringify(body), REST_MS);
  const isResting = asked === JSON.stringify(body);
  const answer = useQuery<ChangeQuote, Problem>({
    queryKey: [...keys.reservation(id), name, asked],
    queryFn: ({ signal }) => ask(signal),
    enabled: body !== null && isResting,
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
    staleTime: 0,
    gcTime: 0,
  });
  return { ...answer, isOld: !isResting || answer.isPlaceholderData };
}

const path = (id: string) => ({ path: { reservation: id } });

/** What another size would cost from now on; null asks nothing. */
export const useResizeQuote = (id: string, slice: Schema<"SliceInRequest"> | null): ChangeQuoteAnswer =>
  useChangeQuote("resize-quote", id, slice, (signal) =>
    dataOf(
      api.POST("/api/v1/reservations/{reservation}/resize-quote", {
        params: path(id),
        body: { slice: slice ?? { memory_mib: 0, share_permille: 0 } },
        signal,
      }),
    ),
  );

/** What another end would cost; undefined asks nothing, null is no end. */
export const useExtendQuote = (id: string, ends_at: string | null | undefined): ChangeQuoteAnswer =>
  useChangeQuote("extend-quote", id, ends_at === undefined ? null : { ends_at }, (signal) =>
    dataOf(
      api.POST("/api/v1/reservations/{reservation}/extend-quote", {
        params: path(id),
        body: { ends_at: ends_at ?? null },
        signal,
      }),
    ),
  );
