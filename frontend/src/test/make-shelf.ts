/** Devices, offers and quotes of the server, made for a test. */
import type { Schema } from "@/lib/api";
import { PROJECT } from "@/test/make";

export const DEVICE = "dev_01k2v7x9qefh8r8x5m3n1p0s4t";
export const OFFER = "off_01k2v7x9qefh8r8x5m3n1p0s4t";

export function makeDevice(over: Partial<Schema<"Device">> = {}): Schema<"Device"> {
  return {
    id: DEVICE,
    node: "nod_01k2v7x9qefh8r8x5m3n1p0s4t",
    key: "opencl-0",
    kind: "opencl",
    model: "Test device",
    vendor: "acme",
    simulated: false,
    compute_units: 8,
    capacity_mib: 16_384,
    capacity_permille: 1000,
    isolation: "limiter-strict",
    isolation_detail: "",
    online: true,
    readings: {},
    memory_mib: 16_384,
    node_hostname: "node-1",
    rack: "r1",
    cordoned: false,
    card: null,
    health: { score: null, metrics: {} } as unknown as Schema<"Device">["health"],
    ...over,
  };
}

export function makeOffer(over: Partial<Schema<"Offer">> = {}): Schema<"Offer"> {
  return {
    id: OFFER,
    sku: "opencl-1-4",
    title: "1/4 of an opencl device",
    profile: "1/4",
    slice: { memory_mib: 4096, share_permille: 250 },
    device_kind: "opencl",
    isolation_at_least: null,
    isolation: ["limiter-strict"],
    simulated: false,
    devices_online: 1,
    price: { id: "prc_01k2v7x9qefh8r8x5m3n1p0s4t", unit_price: "1.5000000000", currency: "EUR", unit: "device-hour" },
    price_line: [{ at: "2026-01-01T00:00:00Z", unit_price: "1.5000000000" }],
    earliest_start_at: "2026-01-01T00:00:00Z",
    free: { memory_mib: 16_384, share_permille: 1000 },
    preset: "1/4",
    health: null,
    ...over,
  };
}

let made = 0;

/** A quote that fits and whose price is held for two minutes. */
export function makeQuote(over: Partial<Schema<"Quote">> = {}): Schema<"Quote"> {
  made += 1;
  const now = Date.now();
  return {
    id: `quo_${String(made).padStart(26, "0")}`,
    fits: true,
    project: PROJECT.id,
    offer: null,
    slice: { memory_mib: 4096, share_permille: 250 },
    device_kind: "opencl",
    device: DEVICE,
    device_model: "Test device",
    simulated: false,
    isolation: "limiter-strict",
    isolation_detail: "",
    starts_at: new Date(now).toISOString(),
    ends_at: new Date(now + 3_600_000).toISOString(),
    price: { id: "prc_01k2v7x9qefh8r8x5m3n1p0s4t", unit_price: "1.5000000000", currency: "EUR", unit: "device-hour" },
    price_terms: { code: "fixed_until", until: null },
    dominant_permille: 250,
    breakdown: [
      { label_code: "compute", permille: 250 },
      { label_code: "memory", permille: 250 },
      { label_code: "dominant", permille: 250 },
    ],
    amount_per_hour: "0.3750",
    amount_total: "0.38",
    currency: "EUR",
    earliest_start_at: new Date(now).toISOString(),
    quota: { share_permille_left: 8000, memory_mib_left: 131_072, reservations_left: 200, ok: true },
    refusal: null,
    preemption: "none",
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + 120_000).toISOString(),
    ...over,
  };
}

export function makeRefusal(over: Partial<Schema<"Refusal">> = {}): Schema<"Refusal"> {
  return {
    code: "no_capacity",
    detail: "Devices ruled out by constraint: memory: 1.",
    suggestion: "Take one of the sizes in `nearest`.",
    constraints: { memory: 1 },
    next_free_at: null,
    nearest: [],
    alternatives: [],
    ...over,
  };
}
