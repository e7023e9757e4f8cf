import { describe, expect, it } from "vitest";
import { fit, held, pan, reveal, toScreen, toWorld, zoomAt } from "@/features/fleet/camera";
import { changedCells } from "@/features/fleet/changes";
import { colourOf, PALETTES, rampOf } from "@/features/fleet/colours";
import { findAt, layOut, nextCell, rackOf } from "@/features/fleet/layout";
import { allocatedPermille, deviceAt, matches, metricOf, rangeOf, totalsOf, devicesOf, withFigures } from "@/features/fleet/model";
import type { Scene } from "@/features/fleet/paint";
import { deviceId, makeFleet, slice } from "@/test/make-fleet";

const NOW = Date.now();
const WINDOW = { w: 800, h: 400 };

function bigFleet(count: number) {
  const fleet = makeFleet();
  const all = <Value>(value: Value) => Array.from({ length: count }, () => value);
  const nodes = Array.from({ length: count / 8 }, (_, n) => ({
    ...(fleet.nodes[0] ?? makeFleet().nodes[0]),
    id: `nod_${n}`,
    rack: `R${Math.floor(n / 8)}`,
  })) as typeof fleet.nodes;
  const devices = {
    ...fleet.devices,
    id: Array.from({ length: count }, (_, n) => `dev_${n}`),
    node: Array.from({ length: count }, (_, n) => Math.floor(n / 8)),
    model: all("H200"),
    slices: all([slice()]),
  };
  return { ...fleet, nodes, devices };
}

describe("the layout", () => {
  it("gives every device a place of its own inside its rack", () => {
    const layout = layOut(bigFleet(1000), 2);
    expect(layout.cells).toHaveLength(1000);
    expect(new Set(layout.cells.map((cell) => `${cell.x} ${cell.y}`)).size).toBe(1000);
    for (const cell of layout.cells) {
      const found = findAt(layout, cell.x + cell.w / 2, cell.y + cell.h / 2);
      expect(found?.cell?.device).toBe(cell.device);
    }
    expect(layout.w / layout.h).toBeGreaterThan(1);
  });

  it("finds a rack between its cells, and nothing outside", () => {
    const layout = layOut(makeFleet(), 2);
    expect(findAt(layout, 2, 2)).toMatchObject({ rack: { name: "R01" }, cell: null });
    expect(findAt(layout, -5, 0)).toBeNull();
  });

  it("walks by arrows and stays at the edge", () => {
    const layout = layOut(makeFleet(), 2);
    expect(nextCell(layout, 0, "right")).toBe(1);
    expect(nextCell(layout, 1, "left")).toBe(0);
    expect(nextCell(layout, 0, "down")).toBe(2);
    expect(nextCell(layout, 0, "up")).toBe(0);
    expect(rackOf(layout, 4)?.name).toBe("R02");
  });

  it("stands when there is a node without a device", () => {
    const fleet = makeFleet();
    const layout = layOut({ ...fleet, devices: { ...fleet.devices, id: [], node: [] } }, 1);
    expect(layout.cells).toHaveLength(0);
    expect(layout.racks).toHaveLength(2);
  });
});

describe("the camera", () => {
  const world = { w: 2000, h: 1000 };

  it("keeps the point under the pointer where it is", () => {
    const before = fit({ x: 0, y: 0, ...world }, WINDOW);
    const at = { x: 123, y: 45 };
    const after = zoomAt(before, 2, at, world, WINDOW);
    expect(toWorld(after, at.x, at.y).x).toBeCloseTo(toWorld(before, at.x, at.y).x);
    expect(after.scale).toBeCloseTo(before.scale * 2);
  });

  it("cannot lose the world", () => {
    const far = held(pan(fit({ x: 0, y: 0, ...world }, WINDOW), -1e6, 1e6), world, WINDOW);
    expect(toScreen(far, { x: 0, y: 0, ...world }).x + world.w * far.scale).toBeGreaterThan(0);
    expect(held({ x: 0, y: 0, scale: 1e-9 }, world, WINDOW).scale).toBeGreaterThan(0.1);
  });

  it("reveals a cell by moving no more than it must", () => {
    const camera = { x: 0, y: 0, scale: 2 };
    const inside = { x: 100, y: 50, w: 30, h: 18 };
    expect(reveal(camera, inside, WINDOW)).toEqual(camera);
    expect(reveal(camera, { ...inside, x: 1000 }, WINDOW).x).toBeGreaterThan(camera.x);
  });
});

describe("the figures", () => {
  const fleet = makeFleet();

  it("never make a zero of what is unknown", () => {
    expect(metricOf(fleet, 1, "use")).toBeNull();
    expect(metricOf(fleet, 2, "health")).toBeNull();
    expect(colourOf(null, rangeOf(fleet, "use"), rampOf("use", "light"))).toBeNull();
    expect(metricOf(fleet, 3, "use")).toBe(0);
  });

  it("count a device as taken by the larger of compute and memory", () => {
    expect(allocatedPermille([slice({ memory_mib: 40_960, share_permille: 250 })], 81_920)).toBe(500);
    expect(allocatedPermille([slice({ memory_mib: 8_192, share_permille: 900 })], 81_920)).toBe(900);
  });

  it("are of one snapshot, without the stale", () => {
    const totals = totalsOf(devicesOf(fleet, NOW));
    expect(totals).toMatchObject({ devices: 5, simulated: 2, stale: 1, unwell: 2, closed: 2 });
    expect(totals.use).toBe(Math.round((200 + 0 + 500) / 3));
  });

  it("move with the news, and only where there is some", () => {
    const news = { id: deviceId(0), health: 10, use_permille: 990, temperature_c: null, power_w: 5, read_at: "2026-11-29T21:00:00Z" };
    const after = withFigures(fleet, [news]);
    expect(after.devices.use_permille).toEqual([990, null, 900, 0, 500]);
    expect(after.devices.temperature_c[0]).toBeNull();
    expect(withFigures(fleet, [{ ...news, id: "dev_other" }])).toBe(fleet);
  });

  it("are found by the words of a filter", () => {
    expect(matches(deviceAt(fleet, 0, NOW), "a100 r01")).toBe(true);
    expect(matches(deviceAt(fleet, 0, NOW), "a100 r02")).toBe(false);
  });
});

describe("what is drawn again", () => {
  const fleet = makeFleet();
  const layout = layOut(fleet, 2);
  const sceneOf = (over: Partial<Scene> = {}): Scene => ({
    fleet,
    layout,
    metric: "use",
    range: rangeOf(fleet, "use"),
    ramp: rampOf("use", "light"),
    palette: PALETTES.light,
    scheme: "light",
    stale: fleet.devices.id.map(() => false),
    faded: null,
    noRack: "No rack",
    ...over,
  });

  it("is only the cell whose figure changed", () => {
    const changed = { ...fleet, devices: { ...fleet.devices, use_permille: [201, null, 901, 0, 500] } };
    expect(changedCells(sceneOf(), sceneOf({ fleet: changed }))).toEqual([0, 2]);
    expect(changedCells(sceneOf(), sceneOf())).toEqual([]);
  });

  it("is everything when the metric, the colours or the cordons change", () => {
    expect(changedCells(null, sceneOf())).toBeNull();
    expect(changedCells(sceneOf(), sceneOf({ metric: "power" }))).toBeNull();
    expect(changedCells(sceneOf(), sceneOf({ palette: PALETTES.dark }))).toBeNull();
    const nodes = fleet.nodes.map((node, n) => (n === 0 ? { ...node, cordoned: true } : node));
    expect(changedCells(sceneOf(), sceneOf({ fleet: { ...fleet, nodes } }))).toBeNull();
  });
});
