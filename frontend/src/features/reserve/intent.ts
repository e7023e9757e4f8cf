/** One intent to buy: what is sent, and the key that makes it safe to send again. Kept until its end is known. */
import { newKey } from "@/lib/idempotency";
import type { Schema } from "@/lib/api";

export type PurchaseBody = Schema<"ReservationInRequest">;
export type Intent = { key: string; user: string; body: PurchaseBody; at: number };

const SLOT = "vxpu.purchase";
/** The server forgets a key after a day. */
const KEPT_MS = 23 * 3_600_000;

export const newIntent = (body: PurchaseBody, user: string, now: number): Intent => ({ key: newKey(), user, body, at: now });

/** Kept in the tab, so that a reload in the middle of a purchase can still find out what became of it. */
export function keepIntent(intent: Intent): void {
  try {
    sessionStorage.setItem(SLOT, JSON.stringify(intent));
  } catch {
    // Blocked storage: the page itself still holds it.
  }
}

export function forgetIntent(): void {
  try {
    sessionStorage.removeItem(SLOT);
  } catch {
    // Nothing was kept.
  }
}

/** What this user sent from an earlier page of this tab without learning its end. */
export function openIntent(user: string, now: number): Intent | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(SLOT) ?? "null") as Intent | null;
    return kept !== null && kept.user === user && now - kept.at < KEPT_MS ? kept : null;
  } catch {
    // Blocked, or not ours.
    return null;
  }
}
