/** What is chosen, as the API takes it. */
import { periodOf } from "@/features/reserve/period";
import type { Size } from "@/features/reserve/proportion";
import type { ReserveSearch } from "@/features/reserve/search";
import type { Schema } from "@/lib/api";

export type Quote = Schema<"Quote">;
export type Wish = Schema<"QuoteInRequest">;

/** A choice that can be asked for: somebody pays, and there is a size. */
export type Choice = ReserveSearch & { project: string } & (Size | { offer: string });

export function choiceOf(search: ReserveSearch, project: string | null): Choice | null {
  const { offer, memory_mib, share_permille, name: _name, ...rest } = search;
  if (project === null) return null;
  if (offer) return { ...rest, project, offer };
  if (!memory_mib || !share_permille) return null;
  return { ...rest, project, memory_mib, share_permille };
}

/** The wish of a choice at this moment: "for four hours" ends four hours from now. */
export function wishOf(choice: Choice, now: number): Wish {
  const { project, device, isolation_at_least } = choice;
  const size =
    "offer" in choice && choice.offer
      ? { offer: choice.offer }
      : {
          slice: { memory_mib: choice.memory_mib ?? 0, share_permille: choice.share_permille ?? 0 },
          device_kind: choice.device_kind ?? null,
        };
  return {
    project,
    ...size,
    device: device ?? null,
    isolation_at_least: isolation_at_least ?? null,
    ...periodOf(choice, now),
  };
}

/** An own size instead of an offer's; the offer's class and isolation stay chosen. */
export function withSize(search: ReserveSearch, size: Size, offer?: Schema<"Offer">): ReserveSearch {
  const left = offer && search.offer === offer.id ? offer : undefined;
  return {
    ...search,
    ...size,
    offer: undefined,
    device_kind: search.device_kind ?? left?.device_kind,
    isolation_at_least: search.isolation_at_least ?? left?.isolation_at_least ?? undefined,
  };
}
