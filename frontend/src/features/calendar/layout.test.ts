import { describe, expect, it } from "vitest";
import { makeItem, makePiece } from "@/test/calendar";
import { agendaOf } from "./agenda";
import { otherTime, waysOut } from "./alternatives";
import { boxesOf, dominantOf, rowHeight } from "./layout";
import { rangeOf } from "./range";

const at = (time: string) => Date.parse(`2026-12-01T${time}:00Z`);
const range = rangeOf("day", "2026-12-01", "UTC");
const piece = (from: string, to: string, over = {}) =>
  makePiece({ starts_at: `2026-12-01T${from}:00Z`, ends_at: `2026-12-01T${to}:00Z`, ...over });

describe("lanes", () => {
  it("are as high as the larger share of what is in them", () => {
    const item = makeItem({ capacity_mib: 16_384 });
    expect(dominantOf(piece("01:00", "02:00", { memory_mib: 8192, share_permille: 125 }), item)).toBe(500);
    const half = boxesOf(makeItem({ pieces: [piece("01:00", "02:00", { share_permille: 500 })] }), range, 672);
    const whole = boxesOf(makeItem({ pieces: [piece("01:00", "02:00", { share_permille: 1000 })] }), range, 672);
    expect((whole[0]?.height ?? 0) / (half[0]?.height ?? 1)).toBe(2);
  });

  it("take no room while nothing of them is on screen", () => {
    const later = makePiece({ starts_at: "2026-12-09T00:00:00Z", ends_at: null, lane: 3 });
    expect(rowHeight(makeItem({ pieces: [later] }), range)).toBe(rowHeight(makeItem(), range));
  });

  it("make no target of what is too narrow beside another", () => {
    const mine = { mine: true, reservation: "rsv_1" };
    const tight = [piece("01:00", "01:15", mine), piece("01:15", "01:30", mine)];
    expect(boxesOf(makeItem({ pieces: tight }), range, 672).map((box) => box.isTight)).toEqual([true, true]);
    expect(boxesOf(makeItem({ pieces: tight.slice(0, 1) }), range, 672)[0]?.isTight).toBe(false);
  });
});

describe("ways out", () => {
  const free = [
    { starts_at: "2026-12-01T06:00:00Z", ends_at: "2026-12-01T08:00:00Z" },
    { starts_at: "2026-12-01T11:00:00Z", ends_at: "2026-12-01T20:00:00Z" },
  ];
  const item = makeItem({ free });
  const size = { memory_mib: 4096, share_permille: 250 };
  const wanted = { device: item.device, span: { from: at("09:00"), to: at("11:00") }, size };

  it("know the nearest time at which the device is free for as long, never one that is over", () => {
    expect(otherTime([item], wanted, at("00:00"))?.span).toEqual({ from: at("11:00"), to: at("13:00") });
    const early = { ...wanted, span: { from: at("08:15"), to: at("09:15") } };
    expect(otherTime([item], early, at("00:00"))?.span.from).toBe(at("07:00"));
    expect(otherTime([item], early, at("07:30"))?.span.from).toBe(at("11:00"));
  });

  it("are all different and none of them is what was wanted", () => {
    const same = { kind: "later" as const, starts_at: "2026-12-01T11:00:00Z", ends_at: "2026-12-01T13:00:00Z", device: item.device, slice: size };
    expect(waysOut([item], wanted, [same, same], 0)).toHaveLength(1);
  });
});

it("lists what goes over midnight on both days", () => {
  const reservation = { state: "confirmed", starts_at: "2026-12-01T22:00:00Z", ends_at: "2026-12-02T02:00:00Z" };
  const days = agendaOf(rangeOf("3days", "2026-12-01", "UTC"), [reservation as never]);
  expect(days.map(({ entries }) => entries.map((entry) => [entry.isContinued, entry.goesOn]))).toEqual([
    [[false, true]],
    [[true, false]],
    [],
  ]);
});
