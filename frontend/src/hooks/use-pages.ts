import { useInfiniteQuery, type QueryKey } from "@tanstack/react-query";

type PageOf<Item> = { items: Item[]; next: string | null };

export type Pages<Item> = {
  items: Item[];
  isPending: boolean;
  error: unknown;
  refetch: () => void;
  /** Null on the last page. */
  more: { load: () => void; busy: boolean } | null;
};

/** A list that the server gives page by page. */
export function usePages<Item>(
  queryKey: QueryKey,
  fetchPage: (cursor: string | undefined, signal: AbortSignal) => Promise<PageOf<Item>>,
  enabled = true,
): Pages<Item> {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
    enabled,
  });
  return {
    items: query.data?.pages.flatMap((page) => page.items) ?? [],
    isPending: query.isPending && enabled,
    error: query.error,
    refetch: () => void query.refetch(),
    more: query.hasNextPage ? { load: () => void query.fetchNextPage(), busy: query.isFetchingNextPage } : null,
  };
}
