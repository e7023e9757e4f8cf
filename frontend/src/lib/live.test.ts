import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LiveClient } from "@/lib/live";
import { Problem } from "@/lib/problem";
import { FakeSocket } from "@/test/fake-socket";

const ended = vi.fn();
const changed = vi.fn();
const ticket = vi.fn(() => Promise.resolve({ ticket: "t", url: "ws://localhost/api/v1/live" }));
let client: LiveClient;

/** Lets the ticket arrive and the socket open. */
const arrive = () => vi.advanceTimersByTimeAsync(1);

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  FakeSocket.all = [];
  for (const mock of [ended, changed, ticket]) mock.mockClear();
  ticket.mockImplementation(() => Promise.resolve({ ticket: "t", url: "ws://localhost/api/v1/live" }));
  client = new LiveClient({ ticket, onSessionEnd: ended, onRightsChanged: changed, random: () => 1 });
  client.start();
});
afterEach(() => client.close());

async function listening(topic = "reservations") {
  const heard = { onSnapshot: vi.fn(), onDelta: vi.fn(), onMetrics: vi.fn(), onGap: vi.fn(), onRefused: vi.fn() };
  const stop = client.subscribe(topic, heard);
  await arrive();
  FakeSocket.last().welcome();
  return { heard, stop, socket: FakeSocket.last() };
}

describe("the live socket", () => {
  it("shows its ticket first, then subscribes", async () => {
    const { socket } = await listening();
    expect(socket.url).not.toContain("t=");
    expect(socket.sent).toEqual([
      { type: "hello", ticket: "t", v: 1 },
      { type: "subscribe", topic: "reservations" },
    ]);
    expect(client.status.get()).toBe("live");
  });

  it("hands out snapshots, deltas and metrics", async () => {
    const { heard, socket } = await listening();
    socket.say({ type: "snapshot", topic: "reservations", seq: "1", data: { a: 1 } });
    socket.say({ type: "delta", topic: "reservations", seq: "2", data: { b: 2 } });
    socket.say({ type: "metrics", topic: "reservations", at: "now", data: { c: 3 } });
    socket.say({ type: "delta", topic: "another", seq: "9", data: {} });
    expect(heard.onSnapshot).toHaveBeenCalledExactlyOnceWith({ a: 1 });
    expect(heard.onDelta).toHaveBeenCalledExactlyOnceWith({ b: 2 });
    expect(heard.onMetrics).toHaveBeenCalledExactlyOnceWith({ c: 3 }, "now");
  });

  it("comes back and resumes where it stopped", async () => {
    const { socket } = await listening();
    socket.say({ type: "delta", topic: "reservations", seq: "41-0", data: {} });
    socket.hangUp(1006);
    expect(client.status.get()).toBe("reconnecting");
    await vi.advanceTimersByTimeAsync(501);
    FakeSocket.last().welcome();
    expect(FakeSocket.last().sent.at(-1)).toEqual({ type: "subscribe", topic: "reservations", since: "41-0" });
    expect(ticket).toHaveBeenCalledTimes(2);
  });

  it("waits twice as long after each failure, half a minute at most", async () => {
    await listening();
    ticket.mockRejectedValue(new Error("no network"));
    FakeSocket.last().hangUp(1006);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 9; attempt += 1) {
      const started = Date.now();
      const before = ticket.mock.calls.length;
      while (ticket.mock.calls.length === before) await vi.advanceTimersByTimeAsync(250);
      waits.push(Date.now() - started);
    }
    expect(waits.slice(0, 4)).toEqual([500, 1000, 2000, 4000]);
    expect(Math.max(...waits)).toBe(30_000);
  });

  it("tries at once when the network is back", async () => {
    await listening();
    ticket.mockRejectedValueOnce(new Error("no network"));
    FakeSocket.last().hangUp(1006);
    await vi.advanceTimersByTimeAsync(501);
    window.dispatchEvent(new Event("online"));
    await arrive();
    expect(ticket).toHaveBeenCalledTimes(3);
  });

  it("takes a silent socket for dead", async () => {
    await listening();
    await vi.advanceTimersByTimeAsync(15_000 * 2.5 + 1);
    expect(client.status.get()).toBe("reconnecting");
  });

  it("answers a ping and lives on", async () => {
    const { socket } = await listening();
    for (let beat = 0; beat < 10; beat += 1) {
      await vi.advanceTimersByTimeAsync(15_000);
      socket.say({ type: "ping" });
    }
    expect(socket.sent.filter((frame) => frame["type"] === "ping")).toHaveLength(10);
    expect(client.status.get()).toBe("live");
  });

  it("has its listener fetch again after a gap, and forgets the number", async () => {
    const { heard, socket } = await listening();
    socket.say({ type: "delta", topic: "reservations", seq: "7", data: {} });
    socket.say({ type: "gap", topic: "reservations" });
    expect(heard.onGap).toHaveBeenCalledOnce();
    socket.hangUp(1006);
    await vi.advanceTimersByTimeAsync(501);
    FakeSocket.last().welcome();
    expect(FakeSocket.last().sent.at(-1)).toEqual({ type: "subscribe", topic: "reservations" });
  });

  it("ends with the session and tries no more", async () => {
    const { socket } = await listening();
    socket.hangUp(4401);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(ended).toHaveBeenCalledOnce();
    expect([client.status.get(), FakeSocket.all.length]).toEqual(["ended", 1]);
  });

  it("ends when no ticket is given any more", async () => {
    ticket.mockRejectedValue(
      new Problem({ code: "not_authenticated", status: 401, title: "", detail: "", suggestion: "", request_id: "" }),
    );
    client.subscribe("reservations", {});
    await arrive();
    expect(ended).toHaveBeenCalledOnce();
  });

  it("says that rights changed and comes back with the new ones", async () => {
    const { socket } = await listening();
    socket.hangUp(4403);
    expect(changed).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(501);
    expect(FakeSocket.all).toHaveLength(2);
  });

  it("does not ask again for a topic that was refused", async () => {
    const { heard, socket } = await listening("lease/lse_x/metrics");
    socket.say({ type: "refused", topic: "lease/lse_x/metrics", code: "not_found", detail: "No such lease." });
    expect(heard.onRefused).toHaveBeenCalledExactlyOnceWith({ code: "not_found", detail: "No such lease." });
    socket.hangUp(1006);
    await vi.advanceTimersByTimeAsync(501);
    FakeSocket.last().welcome();
    expect(FakeSocket.last().sent).toEqual([{ type: "hello", ticket: "t", v: 1 }]);
  });

  it("asks again for what could not be opened just now", async () => {
    const { heard, socket } = await listening();
    socket.say({ type: "refused", topic: "reservations", code: "unavailable", detail: "Later." });
    await vi.advanceTimersByTimeAsync(5_001);
    expect(heard.onRefused).not.toHaveBeenCalled();
    expect(socket.sent.at(-1)).toEqual({ type: "subscribe", topic: "reservations" });
  });

  it("says so while the server itself hears no news, and keeps the number it resumed at", async () => {
    const { socket } = await listening();
    socket.say({ type: "status", live: false });
    expect(client.status.get()).toBe("reconnecting");
    socket.say({ type: "status", live: true });
    socket.say({ type: "resumed", topic: "reservations", seq: "5" });
    expect(client.status.get()).toBe("live");
    socket.hangUp(1012);
    await vi.advanceTimersByTimeAsync(501);
    FakeSocket.last().welcome();
    expect(FakeSocket.last().sent.at(-1)).toEqual({ type: "subscribe", topic: "reservations", since: "5" });
  });

  it("has metrics stop while the tab is hidden", async () => {
    const { heard, socket } = await listening("lease/lse_x/metrics");
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    document.dispatchEvent(new Event("visibilitychange"));
    socket.say({ type: "metrics", topic: "lease/lse_x/metrics", at: "now", data: {} });
    expect(socket.sent.at(-1)).toEqual({ type: "unsubscribe", topic: "lease/lse_x/metrics" });
    expect(heard.onMetrics).not.toHaveBeenCalled();
    hidden.mockReturnValue(false);
    document.dispatchEvent(new Event("visibilitychange"));
    expect(socket.sent.at(-1)).toEqual({ type: "subscribe", topic: "lease/lse_x/metrics" });
  });

  it("shares a topic among listeners and leaves it with the last", async () => {
    const { stop, socket } = await listening();
    const stopOther = client.subscribe("reservations", {});
    stop();
    expect(socket.sent.some((frame) => frame["type"] === "unsubscribe")).toBe(false);
    stopOther();
    expect(socket.sent.at(-1)).toEqual({ type: "unsubscribe", topic: "reservations" });
    await vi.advanceTimersByTimeAsync(10_001);
    expect(client.status.get()).toBe("off");
  });
});
