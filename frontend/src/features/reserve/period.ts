/** When: now or at an instant; for a length, until an instant, or without an end. */
import type { ReserveSearch } from "@/features/reserve/search";

export const DEFAULT_LENGTH_S = 3600;
export const LENGTHS_S = [3600, 4 * 3600, 8 * 3600, 86_400, 7 * 86_400] as const;

export type End = { kind: "for"; seconds: number } | { kind: "until"; at: string } | { kind: "open" };

export function endOf(search: ReserveSearch): End {
  if (search.ends_at) return { kind: "until", at: search.ends_at };
  if (search.open_ended) return { kind: "open" };
  return { kind: "for", seconds: search.for_s ?? DEFAULT_LENGTH_S };
}

/** The part of the address that says this end; the other ways to say one are taken out. */
export function endSearch(end: End): Pick<ReserveSearch, "ends_at" | "for_s" | "open_ended"> {
  const none = { ends_at: undefined, for_s: undefined, open_ended: undefined };
  if (end.kind === "until") return { ...none, ends_at: end.at };
  return end.kind === "open" ? { ...none, open_ended: true } : { ...none, for_s: end.seconds };
}

/** As the API takes instants: whole seconds, UTC. */
export const wire = (ms: number): string => new Date(Math.ceil(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");

/** The period that is asked for at this moment; a start of null is now, an end of null is open. */
export function periodOf(search: ReserveSearch, now: number): { starts_at: string | null; ends_at: string | null } {
  const end = endOf(search);
  const starts_at = search.starts_at ?? null;
  if (end.kind === "open") return { starts_at, ends_at: null };
  if (end.kind === "until") return { starts_at, ends_at: end.at };
  const from = starts_at === null ? now : Date.parse(starts_at);
  return { starts_at, ends_at: wire(from + end.seconds * 1000) };
}

export const QUARTER_MS = 15 * 60_000;

/** The next full quarter of an hour: what "at a time" begins with. */
export const nextQuarter = (now: number): string => wire(Math.ceil((now + 1) / QUARTER_MS) * QUARTER_MS);

/** Seconds of the wished period; null for an open end. */
export function lengthOf(search: ReserveSearch, now: number): number | null {
  const { starts_at, ends_at } = periodOf(search, now);
  if (ends_at === null) return null;
  return Math.round((Date.parse(ends_at) - (starts_at === null ? now : Date.parse(starts_at))) / 1000);
}
