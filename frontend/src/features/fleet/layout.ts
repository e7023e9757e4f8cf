/** Where racks, nodes and devices lie on the map, in world units; and which of them lies under a point. */
import type { Fleet } from "@/features/fleet/model";

export type Rect = { x: number; y: number; w: number; h: number };
export type NodeBox = Rect & { index: number; cells: Cell[] };
export type RackBox = Rect & { name: string; nodes: NodeBox[] };
export type Cell = Rect & { device: number };
export type Layout = { w: number; h: number; racks: RackBox[]; /** By device. */ cells: Cell[] };

export const CELL_W = 30;
export const CELL_H = 18;
export const NODE_LABEL = 8;
export const RACK_HEAD = 15;
const GAP = 3;
const NODE_GAP = 5;
const PAD = 6;
const RACK_GAP = 12;
const MOST_IN_A_ROW = 8;

type Group = { name: string; nodes: { index: number; devices: number[] }[] };

function groupsOf(fleet: Fleet): Group[] {
  const devices: number[][] = fleet.nodes.map(() => []);
  fleet.devices.node.forEach((node, device) => devices[node]?.push(device));
  const groups = new Map<string, Group>();
  fleet.nodes.forEach((node, index) => {
    const group = groups.get(node.rack) ?? { name: node.rack, nodes: [] };
    groups.set(node.rack, group);
    group.nodes.push({ index, devices: devices[index] ?? [] });
  });
  return [...groups.values()];
}

/** Racks side by side in lines, so that the whole is about as wide to high as `aspect`. */
export function layOut(fleet: Fleet, aspect: number): Layout {
  const groups = groupsOf(fleet);
  const widest = Math.max(1, ...groups.flatMap((group) => group.nodes.map((node) => node.devices.length)));
  const inRow = Math.min(MOST_IN_A_ROW, widest);
  const rackW = 2 * PAD + inRow * (CELL_W + GAP) - GAP;
  const heights = groups.map((group) => rackHeight(group, inRow));
  const columns = bestColumns(heights, rackW, aspect);
  const racks: RackBox[] = [];
  let y = 0;
  for (let first = 0; first < groups.length; first += columns) {
    const line = groups.slice(first, first + columns);
    line.forEach((group, place) => racks.push(rackBox(group, place * (rackW + RACK_GAP), y, rackW, inRow)));
    y += Math.max(...heights.slice(first, first + columns)) + RACK_GAP;
  }
  const cells: Cell[] = [];
  for (const rack of racks) for (const node of rack.nodes) for (const cell of node.cells) cells[cell.device] = cell;
  return {
    w: Math.max(1, Math.min(columns, groups.length) * (rackW + RACK_GAP) - RACK_GAP),
    h: Math.max(1, y - RACK_GAP),
    racks,
    cells,
  };
}

const rowsOf = (devices: number, inRow: number) => Math.max(1, Math.ceil(devices / inRow));
const nodeHeight = (devices: number, inRow: number) => NODE_LABEL + rowsOf(devices, inRow) * (CELL_H + GAP) - GAP;
const rackHeight = (group: Group, inRow: number) =>
  RACK_HEAD + group.nodes.reduce((sum, node) => sum + nodeHeight(node.devices.length, inRow) + NODE_GAP, 0) - NODE_GAP + PAD;

function bestColumns(heights: readonly number[], rackW: number, aspect: number): number {
  let best = 1;
  let bestGap = Number.POSITIVE_INFINITY;
  for (let columns = 1; columns <= Math.max(1, heights.length); columns += 1) {
    let height = 0;
    for (let first = 0; first < heights.length; first += columns) {
      height += Math.max(...heights.slice(first, first + columns)) + RACK_GAP;
    }
    const gap = Math.abs(Math.log((columns * (rackW + RACK_GAP)) / Math.max(1, height) / aspect));
    if (gap < bestGap) [best, bestGap] = [columns, gap];
  }
  return best;
}

function rackBox(group: Group, x: number, y: number, w: number, inRow: number): RackBox {
  let top = y + RACK_HEAD;
  const nodes = group.nodes.map(({ index, devices }) => {
    const h = nodeHeight(devices.length, inRow);
    const cells = devices.map((device, place) => ({
      device,
      x: x + PAD + (place % inRow) * (CELL_W + GAP),
      y: top + NODE_LABEL + Math.floor(place / inRow) * (CELL_H + GAP),
      w: CELL_W,
      h: CELL_H,
    }));
    const box = { index, x: x + PAD, y: top, w: w - 2 * PAD, h, cells };
    top += h + NODE_GAP;
    return box;
  });
  return { name: group.name, x, y, w, h: top - NODE_GAP + PAD - y, nodes };
}

export type Found = { rack: RackBox; node: NodeBox | null; cell: Cell | null };

const holds = (rect: Rect, x: number, y: number) => x >= rect.x && y >= rect.y && x < rect.x + rect.w && y < rect.y + rect.h;

/** What lies under a point of the world. */
export function findAt(layout: Layout, x: number, y: number): Found | null {
  const rack = layout.racks.find((box) => holds(box, x, y));
  if (!rack) return null;
  const node = rack.nodes.find((box) => holds(box, x, y)) ?? null;
  return { rack, node, cell: node?.cells.find((box) => holds(box, x, y)) ?? null };
}

export type Direction = "left" | "right" | "up" | "down";

/** The nearest cell in a direction, as the eye would go; the same one at the edge. */
export function nextCell(layout: Layout, from: number, direction: Direction): number {
  const here = layout.cells[from];
  if (!here) return layout.cells.findIndex(Boolean);
  const horizontal = direction === "left" || direction === "right";
  const sign = direction === "left" || direction === "up" ? -1 : 1;
  let best = from;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const cell of layout.cells) {
    if (!cell || cell === here) continue;
    const along = sign * (horizontal ? cell.x - here.x : cell.y - here.y);
    const across = Math.abs(horizontal ? cell.y - here.y : cell.x - here.x);
    if (along <= 0) continue;
    const cost = along + across * 4;
    if (cost < bestCost) [best, bestCost] = [cell.device, cost];
  }
  return best;
}

export const rackOf = (layout: Layout, device: number): RackBox | null =>
  layout.racks.find((rack) => rack.nodes.some((node) => node.cells.some((cell) => cell.device === device))) ?? null;

export const nodeOf = (layout: Layout, device: number): NodeBox | null =>
  rackOf(layout, device)?.nodes.find((node) => node.cells.some((cell) => cell.device === device)) ?? null;
