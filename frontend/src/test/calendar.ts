/** A small fleet and its answers, for the tests of this page. */
import { vi } from "vitest";
import { pageOf, serve, type Call } from "@/test/network";
import { PROJECT } from "@/test/make";
import type { Item, Piece } from "@/features/calendar/types";

export const FREE_DEVICE = "dev_01k2v7x9qefh8r8x5m3n1free1";
export const BUSY_DEVICE = "dev_01k2v7x9qefh8r8x5m3n1busy2";
export const FAR_DEVICE = "dev_01k2v7x9qefh8r8x5m3n1far03";
export const RESERVATION = "rsv_01k2v7x9qefh8r8x5m3n1p0s4t";

export function makeItem(over: Partial<Item> = {}): Item {
  return {
    device: FREE_DEVICE,
    node: "nod_01k2v7x9qefh8r8x5m3n1node1",
    rack: "R1",
    hostname: "alpha",
    model: "H200",
    kind: "nvidia",
    simulated: false,
    online: true,
    isolation: "limiter-strict",
    capacity_mib: 16_384,
    capacity_permille: 1000,
    cordoned: false,
    free: [],
    pieces: [],
    maintenance: [],
    ...over,
  };
}

export function makePiece(over: Partial<Piece> = {}): Piece {
  return {
    starts_at: "2026-11-30T10:00:00Z",
    ends_at: "2026-11-30T12:00:00Z",
    memory_mib: 4096,
    share_permille: 250,
    whole: false,
    lane: 0,
    mine: false,
    reservation: null,
    name: null,
    state: null,
    project: null,
    ...over,
  };
}

/** What the server quotes for a wish: it fits on the device that was asked for, or on the free one. */
export function makeQuote(wish: Record<string, unknown>, over: object = {}) {
  const now = Date.now();
  return {
    id: `quo_${now}`,
    fits: true,
    project: PROJECT.id,
    offer: null,
    slice: wish["slice"],
    device_kind: "nvidia",
    device: wish["device"] ?? FREE_DEVICE,
    device_model: "H200",
    simulated: false,
    isolation: "limiter-strict",
    isolation_detail: null,
    starts_at: wish["starts_at"] ?? new Date(now).toISOString(),
    ends_at: wish["ends_at"],
    price: { id: "prc_01k2v7x9qefh8r8x5m3n1p0s4t", unit_price: "1.50", currency: "EUR", unit: "device-hour" },
    price_terms: "agreed",
    dominant_permille: 250,
    breakdown: [],
    amount_per_hour: "0.3750",
    amount_total: "0.75",
    currency: "EUR",
    earliest_start_at: null,
    quota: { share_permille_left: 4000, memory_mib_left: 65_536, reservations_left: 20, ok: true },
    refusal: null,
    preemption: "none",
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + 120_000).toISOString(),
    ...over,
  };
}

export const makeRefusal = (over: object = {}) => ({
  code: "no_capacity",
  detail: "No device has room for this slice at that time.",
  suggestion: "",
  constraints: { memory: 1 },
  next_free_at: null,
  nearest: [],
  alternatives: [],
  ...over,
});

export const makeBought = (over: object = {}) => ({
  id: RESERVATION,
  name: "night training",
  state: "confirmed",
  project: PROJECT.id,
  slice: { memory_mib: 4096, share_permille: 250 },
  starts_at: "2026-11-30T10:00:00Z",
  ends_at: "2026-11-30T12:00:00Z",
  released_at: null,
  ended_at: null,
  lease: null,
  ...over,
});

type Served = { availability: Call[]; quotes: Call[]; purchases: Call[] };

/** The calendar's whole network; every wish fits unless `quote` says otherwise. */
export function serveCalendar(items: Item[] | (() => Item[]), quote?: (wish: Record<string, unknown>) => object): Served {
  serve("get", "/account", { id: "acc_1", zone: "Europe/Berlin", currency: "EUR" });
  serve("get", "/reservations", pageOf([]));
  return {
    availability: serve("get", "/availability", (call) => ({
      from: call.url.searchParams.get("from"),
      to: call.url.searchParams.get("to"),
      step_s: 900,
      items: typeof items === "function" ? items() : items,
    })),
    quotes: serve("post", "/quotes", ({ body }) => makeQuote(body as Record<string, unknown>, quote?.(body as Record<string, unknown>)), 201),
    purchases: serve("post", "/reservations", makeBought(), 201),
  };
}

/** A screen for the rows, and a clock: layout has no sizes here. */
export function standAt(now: string): void {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date(now) });
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(720);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1200);
  HTMLElement.prototype.setPointerCapture ??= () => undefined;
}
