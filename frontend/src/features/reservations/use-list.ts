import { keepPreviousData, useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useState } from "react";
import { useLiveTopic } from "@/hooks/use-live-topic";
import { api, dataOf, type Schema } from "@/lib/api";
import type { Reservation } from "@/lib/reservation";

type ListPage = Schema<"ReservationPage">;

/** What the address says of the list; "" is any. */
export type ListFilters = { state: string; project: string; q: string; sort: string };

/** As large as the server gives: ten thousand rows are fifty requests, made as one scrolls. */
const PAGE_SIZE = 200;

/** Apart from the other lists: a change must not read fifty pages anew. */
const listKey = (filters: ListFilters) => ["reservation-list", filters] as const;

function readPage(filters: ListFilters, cursor: string | undefined, signal: AbortSignal): Promise<ListPage> {
  const query = {
    limit: PAGE_SIZE,
    cursor,
    state: filters.state ? filters.state.split(",") : undefined,
    project: filters.project || undefined,
    q: filters.q || undefined,
    sort: filters.sort || undefined,
  };
  return dataOf(api.GET("/api/v1/reservations", { params: { query }, signal }));
}

export function useReservationList(filters: ListFilters) {
  const list = useInfiniteQuery({
    queryKey: listKey(filters),
    queryFn: ({ pageParam, signal }) => readPage(filters, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    staleTime: 60_000,
    // The table stays while another filter is asked for.
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
  });
  const news = useListNews(filters);
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  return { ...list, rows, ...news };
}

type News = { reservation: string };

const NOBODY: ReadonlySet<string> = new Set();

/** Rows that are shown are read anew as they change; of those that are not, only the number is told. */
function useListNews(filters: ListFilters) {
  const client = useQueryClient();
  const key = listKey(filters);
  const name = JSON.stringify(filters);
  const [noted, setNoted] = useState({ name, ids: NOBODY });
  const unseen = noted.name === name ? noted.ids : NOBODY;
  const patch = async (id: string) => {
    const known = client.getQueryData<InfiniteData<ListPage>>(key);
    if (!known?.pages.some((page) => page.items.some((row) => row.id === id))) {
      setNoted({ name, ids: new Set(unseen).add(id) });
      return;
    }
    const fresh = await client.fetchQuery({
      queryKey: ["reservation-list-row", id],
      queryFn: () => dataOf(api.GET("/api/v1/reservations/{reservation}", { params: { path: { reservation: id } } })),
      staleTime: 0,
    });
    client.setQueryData<InfiniteData<ListPage>>(key, (now) => now && withRow(now, fresh));
  };
  const showNews = () => {
    setNoted({ name, ids: NOBODY });
    void client.resetQueries({ queryKey: key });
  };
  useLiveTopic<News>("reservations", {
    onDelta: ({ reservation }) => void patch(reservation).catch(() => showNews()),
    onGap: showNews,
  });
  return { news: unseen.size, showNews };
}

function withRow(data: InfiniteData<ListPage>, fresh: Reservation): InfiniteData<ListPage> {
  const pages = data.pages.map((page) => ({
    ...page,
    items: page.items.map((row) => (row.id === fresh.id ? fresh : row)),
  }));
  return { ...data, pages };
}
