/** Reservations and what hangs on them, made for a test. */
import type { Schema } from "@/lib/api";
import type { Reservation } from "@/lib/reservation";
import { PROJECT } from "@/test/make";

export const RESERVATION = "rsv_01k2v7x9qefh8r8x5m3n1p0s4t";
export const LEASE = "lse_01k2v7x9qefh8r8x5m3n1p0s4t";
export const DEVICE = "dev_01k2v7x9qefh8r8x5m3n1p0s4t";

/** An instant so many seconds from now. */
export const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();

export function makeLease(over: Partial<NonNullable<Reservation["lease"]>> = {}): NonNullable<Reservation["lease"]> {
  return {
    id: LEASE,
    state: "ready",
    device: DEVICE,
    isolation: "limiter-strict",
    ready_at: inSeconds(-1800),
    ended_at: null,
    end_reason: "",
    ...over,
  };
}

/** Runs since half an hour, for another hour and a half. */
export function makeReservation(over: Partial<Reservation> = {}): Reservation {
  return {
    id: RESERVATION,
    name: "nightly training",
    state: "active",
    tenant: "ten_01k2v7x9qefh8r8x5m3n1p0s4t",
    project: PROJECT.id,
    requested_by: "usr_01k2v7x9qefh8r8x5m3n1p0s4t",
    offer: null,
    slice: { memory_mib: 1024, share_permille: 250 },
    device_kind: "opencl",
    starts_at: inSeconds(-1800),
    ends_at: inSeconds(5400),
    priority: "normal",
    preemptible: false,
    preemption: null,
    evictions: 0,
    checkpointed_at: null,
    released_at: null,
    ended_at: null,
    end_reason: "",
    earlier_start_at: null,
    lease: makeLease(),
    device: { id: DEVICE, model: "Ada 6000", kind: "opencl", simulated: false },
    isolation: "limiter-strict",
    price: { id: "prc_01k2v7x9qefh8r8x5m3n1p0s4t", unit_price: "1.5000000000", currency: "EUR", unit: "device-hour" },
    price_terms: { code: "list_at_delivery", until: null },
    quote: null,
    move: null,
    amount_per_hour: "0.3750",
    cost_so_far: { amount: "0.1875", currency: "EUR", as_of: inSeconds(0), quality: "estimated" },
    queue: null,
    queue_until: null,
    created_at: inSeconds(-2000),
    ...over,
  };
}

export const makeQueued = (over: Partial<Reservation> = {}): Reservation =>
  makeReservation({
    state: "queued",
    lease: null,
    device: null,
    // Nothing is enforced before it has a device; the schema's type does not know that.
    isolation: null as never,
    price: null,
    amount_per_hour: null,
    cost_so_far: null,
    queue: {
      best: 1,
      worst: 3,
      waits_for: "memory",
      estimated_start_at: null,
      estimated_start_by: null,
      attempts: 0,
      next_try_at: null,
    },
    queue_until: inSeconds(7200),
    ...over,
  });

export function makeWindow(over: Partial<Schema<"Window">> = {}): Schema<"Window"> {
  return {
    window_start: inSeconds(-120),
    window_s: 60,
    granted_permille_s: 15_000,
    used_permille_s: 14_000,
    peak_mib: 400,
    throttled_ms: 0,
    contended: false,
    state: "ready",
    ...over,
  };
}

export function makeUsage(windows: Schema<"Window">[] = []): Schema<"Usage"> {
  return {
    lease: LEASE,
    windows_counted: windows.length,
    used_permille_s: 0,
    granted_permille_s: 0,
    peak_mib: null,
    seqs_missing: 0,
    quarantined: 0,
    windows,
  };
}

export function makeChangeQuote(over: Partial<Schema<"ChangeQuote">> = {}): Schema<"ChangeQuote"> {
  return {
    fits: true,
    amount_per_hour_before: "0.3750",
    amount_per_hour_after: "0.7500",
    difference_per_hour: "0.3750",
    amount_total_before: "0.56",
    amount_total_after: "1.13",
    currency: "EUR",
    effective_at: inSeconds(0),
    refusal: null,
    ...over,
  };
}

type Reading = { value: number | null; at: string | null; quality: string };
const measured = (value: number, at: string): Reading => ({ value, at, quality: "measured" });

/** A frame of `lease/{id}/metrics`. */
export function makeSample(over: object = {}, at = inSeconds(0)) {
  return {
    at,
    memory_mib: measured(512, at),
    memory_limit_mib: 1024,
    compute_permille: measured(230, at),
    compute_limit_permille: 250,
    throttled_permille: measured(40, at),
    power_mw: { value: null, at: null, quality: "unavailable" },
    processes: 2,
    ...over,
  };
}
