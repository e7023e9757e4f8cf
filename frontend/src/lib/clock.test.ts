import { afterEach, describe, expect, it, vi } from "vitest";
import { noteServerDate, serverNow, serverOffset } from "@/lib/clock";

const HOUR = 3_600_000;
const header = (ms: number) => new Date(ms).toUTCString();

afterEach(() => vi.useRealTimers());

describe("the server's clock", () => {
  it("changes nothing while this machine's clock agrees", () => {
    noteServerDate(header(1_800_000_000_000), 1_800_000_000_100, 1_800_000_000_200);
    expect(serverOffset()).toBe(0);
  });

  it("tells the server's time on a machine that is an hour behind", () => {
    vi.useFakeTimers({ now: 1_800_000_000_000 - HOUR });
    noteServerDate(header(1_800_000_000_000), Date.now(), Date.now() + 40);
    expect(Math.abs(serverNow() - 1_800_000_000_000)).toBeLessThanOrEqual(1_000);
  });

  it("comes closer with each answer", () => {
    const ahead = 10 * HOUR;
    for (const fraction of [0, 900, 300, 990, 10]) {
      const truth = 1_800_000_000_000 + fraction;
      noteServerDate(header(truth), truth + ahead, truth + ahead);
    }
    expect(Math.abs(serverOffset() + ahead)).toBeLessThanOrEqual(20);
  });

  it("starts afresh when somebody sets the clock", () => {
    noteServerDate(header(1_800_000_000_000), 1_800_000_000_000, 1_800_000_000_000);
    noteServerDate(header(1_800_000_010_000), 1_800_000_010_000 - HOUR, 1_800_000_010_000 - HOUR);
    expect(Math.abs(serverOffset() - HOUR)).toBeLessThanOrEqual(1_000);
  });

  it("ignores an answer without a readable date", () => {
    noteServerDate(null, 0, 0);
    noteServerDate("yesterday", 0, 0);
    expect(serverOffset()).toBe(0);
  });
});
