/** A local date and time that somebody typed, as an instant; or what stands in the way of one. */
import { parseLocal, toInstant } from "@/lib/time";

/** `which` says which of two is meant where the clock shows a time twice. */
export type Typed = { local: string; which: "earlier" | "later" | null };

export type When =
  | { kind: "empty" }
  | { kind: "unreadable" }
  | { kind: "at"; at: number }
  | { kind: "both"; earlier: number; later: number; at: number }
  /** Clocks jump over it; `hint` is the instant that they show right after the jump. */
  | { kind: "gap"; hint: number }
  | { kind: "twice"; earlier: number; later: number };

export function whenOf({ local, which }: Typed, zone: string): When {
  if (local.trim() === "") return { kind: "empty" };
  const wall = parseLocal(local);
  if (!wall) return { kind: "unreadable" };
  const found = toInstant(wall, zone);
  if (found.kind === "one") return { kind: "at", at: found.at.getTime() };
  if (found.kind === "gap") return { kind: "gap", hint: found.shifted.getTime() };
  const earlier = found.earlier.getTime();
  const later = found.later.getTime();
  if (which === null) return { kind: "twice", earlier, later };
  return { kind: "both", earlier, later, at: which === "earlier" ? earlier : later };
}

export const instantOf = (when: When): number | null => (when.kind === "at" || when.kind === "both" ? when.at : null);
