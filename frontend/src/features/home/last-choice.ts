/** The form of a new reservation, filled in with what was chosen last. Pure. */
import { bookedSeconds, type Reservation } from "@/lib/reservation";

export type LastChoice = { memory_mib: number; share_permille: number; ends_at?: string };

/** Same size and length, from now on. */
export function choiceOf(last: Pick<Reservation, "slice" | "starts_at" | "ends_at">, now: number): LastChoice {
  const seconds = bookedSeconds(last);
  // Whole minutes: nobody wants an end of 14:07:33.
  const minute = 60_000;
  const ends_at = seconds === null ? undefined : new Date(Math.ceil((now + seconds * 1000) / minute) * minute).toISOString();
  return ends_at === undefined ? { ...last.slice } : { ...last.slice, ends_at };
}
