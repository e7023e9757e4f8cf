/** Which events, as the address says it. */
export type EventsSearch = { kind?: string; subject?: string; q?: string; sort?: string };

const text = (value: unknown) => (typeof value === "string" && value.trim() !== "" ? value.trim() : undefined);

export function eventsSearch(raw: Record<string, unknown>): EventsSearch {
  return { kind: text(raw["kind"]), subject: text(raw["subject"]), q: text(raw["q"]), sort: text(raw["sort"]) };
}
