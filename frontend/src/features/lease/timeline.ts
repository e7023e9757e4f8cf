/** The way of a reservation from the booking to its end, as a few steps. Pure. */
import type { Schema } from "@/lib/api";
import { phaseOf, type Reservation } from "@/lib/reservation";

type Event = Pick<Schema<"ReservationEvent">, "to_state" | "at">;

export const STEPS = ["asked", "booked", "preparing", "ready", "ended"] as const;
export type StepName = (typeof STEPS)[number];
export type Step = {
  name: StepName;
  /** When it was reached, or when it is expected; null when it never was, or nobody knows. */
  at: string | null;
  status: "done" | "current" | "ahead" | "skipped" | "failed";
};

const firstOf = (events: readonly Event[], ...states: Event["to_state"][]): string | null =>
  events.find((event) => states.includes(event.to_state))?.at ?? null;

/** The step that it is in now. */
export function currentStep(reservation: Reservation): StepName {
  const phase = phaseOf(reservation);
  if (phase === "ended") return "ended";
  if (phase === "waiting") return "asked";
  if (phase === "booked") return "booked";
  if (reservation.lease?.ready_at) return "ready";
  return "preparing";
}

/** A wish that waits keeps its length, not its times. */
function expectedAt(name: StepName, reservation: Reservation): string | null {
  if (phaseOf(reservation) === "waiting") return null;
  if (name === "ended") return reservation.ends_at;
  return name === "preparing" ? reservation.starts_at : null;
}

/** `events` oldest first. */
export function timelineOf(reservation: Reservation, events: readonly Event[]): Step[] {
  const current = STEPS.indexOf(currentStep(reservation));
  const isOver = phaseOf(reservation) === "ended";
  const isBad = ["failed", "rejected", "no_show", "expired"].includes(reservation.state);
  const reached: Record<StepName, string | null> = {
    asked: reservation.created_at,
    booked: firstOf(events, "confirmed"),
    preparing: firstOf(events, "activating"),
    ready: reservation.lease?.ready_at ?? firstOf(events, "active"),
    ended: isOver ? reservation.ended_at : reservation.ends_at,
  };
  return STEPS.map((name, index) => {
    const at = reached[name];
    if (index > current) return { name, at: expectedAt(name, reservation), status: "ahead" };
    if (index === current) return { name, at, status: isOver && isBad ? "failed" : isOver ? "done" : "current" };
    return { name, at, status: at === null ? "skipped" : "done" };
  });
}
