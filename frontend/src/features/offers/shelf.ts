/** Offers by class, in the order of a wish. */
import type { Device } from "@/hooks/use-devices";
import type { Offer } from "@/hooks/use-offers";
import { compareAmounts, partOfAmount } from "@/lib/money";

export const SORTS = ["cheapest", "soonest", "by_size"] as const;
export type Sort = (typeof SORTS)[number];

export const sortOf = (text: string): Sort => SORTS.find((one) => one === text) ?? "cheapest";

/** An offer with what it costs an hour on the largest device of its class; null while no price is valid. */
export type Sold = { offer: Offer; per_hour: string | null };

export type OfferClass = { id: string; kind: string; rows: Sold[] };

/** Larger of both shares; without a known device the size itself says which part of one it is. */
function dominantOf({ slice }: Offer, deviceMib: number): number {
  if (deviceMib <= 0) return slice.share_permille;
  return Math.max(slice.share_permille, Math.ceil((slice.memory_mib * 1000) / deviceMib));
}

export function soldOf(offer: Offer, devices: Device[]): Sold {
  const sizes = devices.filter((one) => one.kind === offer.device_kind && one.online).map((one) => one.capacity_mib);
  const dominant = dominantOf(offer, Math.max(0, ...sizes));
  return { offer, per_hour: offer.price === null ? null : partOfAmount(offer.price.unit_price, Math.min(1000, dominant)) };
}

const last = Number.MAX_SAFE_INTEGER;
const startOf = ({ offer }: Sold) => (offer.earliest_start_at === null ? last : Date.parse(offer.earliest_start_at));
const bySize = (a: Sold, b: Sold) => a.offer.slice.share_permille - b.offer.slice.share_permille;

function byPrice(a: Sold, b: Sold): number {
  if (a.per_hour === null || b.per_hour === null) return Number(a.per_hour === null) - Number(b.per_hour === null);
  return compareAmounts(a.per_hour, b.per_hour);
}

const ORDERS: Record<Sort, (a: Sold, b: Sold) => number> = {
  cheapest: (a, b) => byPrice(a, b) || bySize(a, b),
  // A start that has come is now, whichever second it was computed in.
  soonest: (a, b) => minuteOf(a) - minuteOf(b) || byPrice(a, b),
  by_size: (a, b) => bySize(a, b) || byPrice(a, b),
};

const minuteOf = (sold: Sold) => Math.floor(startOf(sold) / 60_000);

/** Classes with their sizes; the class with the best size first. */
export function groupOffers(sold: Sold[], sort: Sort): OfferClass[] {
  const order = ORDERS[sort];
  const groups = new Map<string, Sold[]>();
  for (const one of sold) {
    const id = `${one.offer.device_kind} ${one.offer.isolation_at_least ?? ""} ${one.offer.simulated}`;
    groups.set(id, [...(groups.get(id) ?? []), one]);
  }
  return [...groups]
    .map(([id, rows]) => ({ id, kind: rows[0]?.offer.device_kind ?? "", rows: rows.sort(order) }))
    .sort((a, b) => {
      const [first] = a.rows;
      const [second] = b.rows;
      return first && second ? order(first, second) : 0;
    });
}

/** Every word of the filter is somewhere in what the page shows of the offer. */
export function matches(text: string, filter: string): boolean {
  const shown = text.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => shown.includes(word));
}
