import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf, type Schema } from "@/lib/api";
import { keys } from "@/lib/query-keys";

export type Offer = Schema<"Offer">;
type Page = Schema<"OfferPage">;

/** A thousand offers are read at most: nobody chooses from more. */
const PAGES = 5;

async function readShelf(signal: AbortSignal): Promise<Offer[]> {
  const offers: Offer[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const found: Page = await dataOf(api.GET("/api/v1/offers", { params: { query: { limit: 200, cursor } }, signal }));
    offers.push(...found.items);
    if (found.next === null) break;
    cursor = found.next;
  }
  return offers;
}

export const offersQuery = queryOptions({
  queryKey: keys.offers(),
  queryFn: ({ signal }) => readShelf(signal),
  staleTime: 15_000,
});

/** What is sold: sizes of device classes, with the caller's price now. */
export const useOffers = () => useQuery(offersQuery);
