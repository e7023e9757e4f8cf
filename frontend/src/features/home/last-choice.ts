/** The form of a new reservation, filled in with what was chosen last. Pure. */
import { bookedSeconds, type Reservation } from "@/lib/reservation";

/** Search parameters of the page Reserve. */
export type LastChoice = {
  memory_mib: number;
  share_permille: number;
  device_kind?: string;
  name?: string;
  for_s?: number;
  open_ended?: true;
};

type Last = Pick<Reservation, "slice" | "starts_at" | "ends_at" | "device_kind" | "name">;

/** Same size, kind, name and length, from now on. */
export function choiceOf(last: Last): LastChoice {
  const seconds = bookedSeconds(last);
  return {
    ...last.slice,
    ...(last.device_kind ? { device_kind: last.device_kind } : {}),
    ...(last.name ? { name: last.name } : {}),
    // At least a minute: an early release may have left a stump.
    ...(seconds === null ? { open_ended: true } : { for_s: Math.max(60, Math.round(seconds)) }),
  };
}
