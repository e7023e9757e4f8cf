import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Buyer, WAITS_MS, type Bought } from "@/features/reserve/buyer";
import type { Intent } from "@/features/reserve/intent";
import { Problem, unreachable } from "@/lib/problem";

const BOUGHT = { id: "rsv_1" } as Bought;
const USER = "usr_1";
const problem = (code: string, status: number, retry_after_s: number | null = null) =>
  new Problem({ code, status, title: "", detail: "", suggestion: "", request_id: "", retry_after_s });

/** A server that answers with these, one after the other. */
function answering(...answers: (Bought | Problem)[]) {
  const keys: string[] = [];
  const send = ({ key }: Intent) => {
    keys.push(key);
    const next = answers.shift();
    if (!next) throw new Error("asked more often than told");
    return next instanceof Problem ? Promise.reject(next) : Promise.resolve(next);
  };
  return { keys, send };
}

beforeEach(() => {
  vi.useFakeTimers();
  sessionStorage.clear();
});
afterEach(() => vi.useRealTimers());

describe("one intent, one purchase", () => {
  test("no answer is asked again with the same key until there is one", async () => {
    const { keys, send } = answering(unreachable(), problem("unexpected_answer", 502), problem("idempotency_in_flight", 409, 2), BOUGHT);
    const buyer = new Buyer(send, USER);
    const onBought = vi.fn();
    buyer.attach(onBought);
    buyer.buy({ quote: "quo_1", name: "", queue: false });
    await vi.advanceTimersByTimeAsync(0);
    expect(buyer.state.get()).toMatchObject({ kind: "unsure", isAsking: false });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(onBought).toHaveBeenCalledExactlyOnceWith(BOUGHT);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(sessionStorage).toHaveLength(0);
  });

  test("a second click while the first is open sends nothing", async () => {
    const { keys, send } = answering(unreachable(), BOUGHT);
    const buyer = new Buyer(send, USER);
    buyer.buy({ quote: "quo_1", name: "", queue: false });
    buyer.buy({ quote: "quo_2", name: "", queue: false });
    await vi.advanceTimersByTimeAsync(0);
    expect(keys).toHaveLength(1);
  });

  test("a clear no ends the intent, and the next one has its own key", async () => {
    const { keys, send } = answering(problem("no_capacity", 409), BOUGHT);
    const buyer = new Buyer(send, USER);
    buyer.buy({ quote: "quo_1", name: "", queue: false });
    await vi.advanceTimersByTimeAsync(0);
    expect(buyer.state.get()).toMatchObject({ kind: "refused" });
    buyer.buy({ quote: "quo_2", name: "", queue: false });
    await vi.advanceTimersByTimeAsync(0);
    expect(new Set(keys).size).toBe(2);
  });

  test("after the last try a person is asked, and the network's return asks at once", async () => {
    const { keys, send } = answering(...Array.from({ length: 6 }, unreachable), BOUGHT);
    const buyer = new Buyer(send, USER);
    buyer.buy({ quote: "quo_1", name: "", queue: false });
    await vi.advanceTimersByTimeAsync(WAITS_MS.reduce((sum, wait) => sum + wait, 1000));
    expect(buyer.state.get()).toMatchObject({ kind: "unsure", isAsking: true });
    expect(keys).toHaveLength(6);
    buyer.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(buyer.state.get()).toEqual({ kind: "idle" });
  });

  test("a reload finds the open intent and sends nothing by itself; another user does not see it", async () => {
    const first = answering(unreachable());
    const gone = new Buyer(first.send, USER);
    const detach = gone.attach(() => undefined);
    gone.buy({ quote: "quo_1", name: "", queue: false });
    await vi.advanceTimersByTimeAsync(0);
    detach();

    expect(new Buyer(first.send, "usr_2").state.get()).toEqual({ kind: "idle" });
    const second = answering(BOUGHT);
    const back = new Buyer(second.send, USER);
    const onBought = vi.fn();
    back.attach(onBought);
    back.wake();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(back.state.get()).toMatchObject({ kind: "unsure", problem: null, isAsking: true });
    expect(second.keys).toEqual([]);
    back.tryAgain();
    await vi.advanceTimersByTimeAsync(0);
    expect(second.keys).toEqual(first.keys);
    expect(onBought).toHaveBeenCalledOnce();
  });

  test("what is dropped while on its way is not told any more", async () => {
    let answer: (bought: Bought) => void = () => undefined;
    const buyer = new Buyer(() => new Promise((resolve) => (answer = resolve)), USER);
    const onBought = vi.fn();
    buyer.attach(onBought);
    buyer.buy({ quote: "quo_1", name: "", queue: false });
    buyer.dismiss();
    answer(BOUGHT);
    await vi.advanceTimersByTimeAsync(0);
    expect(onBought).not.toHaveBeenCalled();
  });
});
