/**
 * Buys once. An intent is sent with one key until its end is known: no answer, a restarted proxy or a server that
 * stumbled is not an end, and the same key never buys twice.
 */
import { forgetIntent, keepIntent, newIntent, openIntent, type Intent, type PurchaseBody } from "@/features/reserve/intent";
import type { Schema } from "@/lib/api";
import { toProblem, type Problem } from "@/lib/problem";
import { signal } from "@/lib/signal";

export type Bought = Schema<"Reservation">;

export type PurchaseState =
  | { kind: "idle" }
  | { kind: "sending" }
  /** It may have been bought. `isAsking`: tries are over, or it is from an earlier page: a person decides. */
  | { kind: "unsure"; problem: Problem | null; isTrying: boolean; isAsking: boolean }
  | { kind: "refused"; problem: Problem };

/** Waits between tries, in ms; after the last one a person is asked. */
export const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 15_000];
const LONGEST_WAIT_MS = 30_000;

/** Answers that do not say whether it was done. */
const isUnsure = ({ status, code }: Problem) =>
  status === 0 || status >= 500 || status === 429 || code === "idempotency_in_flight";

export class Buyer {
  readonly state = signal<PurchaseState>({ kind: "idle" });
  private onBought: ((bought: Bought) => void) | null = null;
  private readonly send: (intent: Intent) => Promise<Bought>;
  private readonly user: string;
  private intent: Intent | null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private tries = 0;

  constructor(send: (intent: Intent) => Promise<Bought>, user: string) {
    this.send = send;
    this.user = user;
    this.intent = openIntent(user, Date.now());
    if (this.intent) this.state.set({ kind: "unsure", problem: null, isTrying: false, isAsking: true });
  }

  /** Nothing is done while another intent's end is not known. */
  buy(body: PurchaseBody): void {
    if (this.intent) return;
    this.intent = newIntent(body, this.user, Date.now());
    keepIntent(this.intent);
    this.state.set({ kind: "sending" });
    this.tries = 0;
    void this.attempt(this.intent);
  }

  /** Sends the open intent again, now. */
  tryAgain(): void {
    const before = this.state.get();
    if (!this.intent || before.kind !== "unsure" || before.isTrying) return;
    clearTimeout(this.timer);
    this.state.set({ ...before, isTrying: true });
    void this.attempt(this.intent);
  }

  /** The network is back: no need to wait for the next try. */
  wake(): void {
    const now = this.state.get();
    if (now.kind === "unsure" && now.problem !== null) this.tryAgain();
  }

  /** Back to choosing. An intent whose end is unknown is given up: its reservation, if made, is in the list. */
  dismiss(): void {
    clearTimeout(this.timer);
    this.close({ kind: "idle" });
  }

  /** While a page is there to be told. What is open when it goes stays kept for the next one. */
  attach(onBought: (bought: Bought) => void): () => void {
    this.onBought = onBought;
    return () => {
      clearTimeout(this.timer);
      this.onBought = null;
    };
  }

  private close(state: PurchaseState): void {
    this.intent = null;
    forgetIntent();
    this.state.set(state);
  }

  private async attempt(intent: Intent): Promise<void> {
    try {
      const bought = await this.send(intent);
      if (this.intent !== intent) return;
      this.close({ kind: "idle" });
      this.onBought?.(bought);
    } catch (thrown) {
      if (this.intent !== intent) return;
      this.fail(toProblem(thrown));
    }
  }

  private fail(problem: Problem): void {
    if (!isUnsure(problem)) return this.close({ kind: "refused", problem });
    const asked = problem.retry_after_s === null ? 0 : problem.retry_after_s * 1000;
    const wait = WAITS_MS[this.tries];
    this.tries += 1;
    this.state.set({ kind: "unsure", problem, isTrying: false, isAsking: wait === undefined });
    if (wait !== undefined) {
      this.timer = setTimeout(() => this.tryAgain(), Math.min(Math.max(wait, asked), LONGEST_WAIT_MS));
    }
    return undefined;
  }
}
