/** The new end that somebody chooses for a reservation, and what stands against it. Pure. */
import { offsetText, toInstant } from "@/lib/time";

export type EndChoice =
  | { kind: "hours"; hours: number }
  | { kind: "until"; local: string; later: boolean }
  | { kind: "open" };

/** `ends_at` undefined: nothing that could be asked for yet. */
export type NewEnd = {
  ends_at: string | null | undefined;
  trouble: null | { kind: "gap"; shifted: Date } | { kind: "overlap"; first: string; second: string } | { kind: "past" };
};

const HOUR = 3_600_000;

/** `from` is the booked end, or now for what has none. */
export function newEnd(choice: EndChoice, from: number, zone: string): NewEnd {
  if (choice.kind === "open") return { ends_at: null, trouble: null };
  if (choice.kind === "hours") return { ends_at: new Date(from + choice.hours * HOUR).toISOString(), trouble: null };
  if (choice.local === "") return { ends_at: undefined, trouble: null };
  const meant = toInstant(choice.local, zone);
  if (meant.kind === "one") return after(meant.at, from, null);
  if (meant.kind === "gap") return after(meant.shifted, from, { kind: "gap", shifted: meant.shifted });
  const trouble = { kind: "overlap", first: offsetText(meant.earlier, zone), second: offsetText(meant.later, zone) } as const;
  return after(choice.later ? meant.later : meant.earlier, from, trouble);
}

function after(at: Date, from: number, trouble: NewEnd["trouble"]): NewEnd {
  if (at.getTime() <= from) return { ends_at: undefined, trouble: { kind: "past" } };
  return { ends_at: at.toISOString(), trouble };
}
