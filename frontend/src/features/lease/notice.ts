/** Which words a state needs, beside its badge: what is the matter, and what next. Pure. */
import { phaseOf, type Reservation } from "@/lib/reservation";
import type { MessageKey } from "@/lib/i18n";

export type Tone = "info" | "warning" | "error";
export type Notice = {
  title: MessageKey;
  text: MessageKey;
  tone: Tone;
  /** What `{when}` of the title stands for. */
  when: string | null;
  /** Why, as the market noted it. */
  reason: string;
  /** Offer to reserve the same again. */
  again: boolean;
};

const TONES: Partial<Record<string, Tone>> = {
  unreachable: "error",
  failed: "error",
  preempting: "error",
  preempted: "warning",
  moving: "warning",
  suspended: "warning",
  expired: "warning",
  rejected: "warning",
  no_show: "warning",
};

/** States that speak for themselves, or have a panel of their own. */
const QUIET = new Set<string>(["queued"]);

/** null: nothing needs to be said. */
export function noticeOf(reservation: Reservation): Notice | null {
  const { state, lease } = reservation;
  let name: string = state;
  if (state === "active") {
    if (lease?.state === "unreachable" || lease?.state === "draining" || lease?.state === "suspended") name = lease.state;
    else if (reservation.move) name = "relocating";
    else return null;
  }
  if (state === "activating" && lease?.state === "unreachable") name = "unreachable";
  if (QUIET.has(name)) return null;
  const isEnded = phaseOf(reservation) === "ended";
  return {
    title: `lease.notice.${name}_title` as MessageKey,
    text: `lease.notice.${name}_text` as MessageKey,
    tone: TONES[name] ?? "info",
    when: isEnded ? reservation.ended_at : reservation.starts_at,
    reason: reservation.end_reason || lease?.end_reason || "",
    again: isEnded,
  };
}

const CODES: Record<string, MessageKey> = {
  released: "lease.reason.released",
  expired: "lease.reason.expired",
  "the booked end was reached": "lease.reason.expired",
  "node lost": "lease.reason.node_lost",
  node_lost: "lease.reason.node_lost",
  node_revoked: "lease.reason.node_revoked",
  ended_by_node: "lease.reason.ended_by_node",
  absent: "lease.reason.absent",
  hold_lapsed: "lease.reason.hold_lapsed",
  superseded: "lease.reason.superseded",
};

/** A reason in words; one that we have no word for is shown as it was noted. */
export const reasonKey = (reason: string): MessageKey | null => CODES[reason] ?? null;
