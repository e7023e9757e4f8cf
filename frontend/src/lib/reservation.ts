/** What a reservation's state means for who looks at it. */
import type { Schema } from "@/lib/api";

export type Reservation = Schema<"Reservation">;
export type ReservationState = Schema<"ReservationState">;

/** `waiting`: no place yet; `booked`: has a place, time to come; `running`: has begun; `ended`: is over. */
export type Phase = "waiting" | "booked" | "running" | "ended";

const PHASES: Record<ReservationState, Phase> = {
  quoted: "waiting",
  queued: "waiting",
  held: "waiting",
  awaiting_approval: "waiting",
  preempted: "waiting",
  confirmed: "booked",
  activating: "running",
  active: "running",
  resizing: "running",
  suspended: "running",
  preempting: "running",
  moving: "running",
  ending: "running",
  completed: "ended",
  expired: "ended",
  rejected: "ended",
  cancelled: "ended",
  no_show: "ended",
  failed: "ended",
};

export const phaseOf = (reservation: Pick<Reservation, "state">): Phase => PHASES[reservation.state];

const CHANGEABLE = new Set<ReservationState>(["confirmed", "activating", "active"]);

/** Size and end can be changed: it has a place and was not given back. */
export const isChangeable = (reservation: Pick<Reservation, "state" | "released_at">): boolean =>
  CHANGEABLE.has(reservation.state) && reservation.released_at === null;

/** It can be given back, or taken back while it waits. */
export const isReleasable = (reservation: Pick<Reservation, "state" | "released_at">): boolean =>
  phaseOf(reservation) !== "ended" && reservation.state !== "ending" && reservation.released_at === null;

/** Programs run, and time is charged as delivered. */
export const isDelivering = (reservation: Reservation): boolean =>
  reservation.state === "active" && reservation.lease?.state === "ready";

/** Seconds from start to booked end; null when open-ended. */
export function bookedSeconds(reservation: Pick<Reservation, "starts_at" | "ends_at">): number | null {
  if (reservation.ends_at === null) return null;
  return (Date.parse(reservation.ends_at) - Date.parse(reservation.starts_at)) / 1000;
}
