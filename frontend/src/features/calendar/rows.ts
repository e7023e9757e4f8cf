/** The calendar's rows: rack > node > device, each group can be closed. */
import type { Item } from "./types";
import { rowHeight } from "./layout";
import type { Span } from "./range";

export type RackRow = { kind: "rack"; id: string; name: string; devices: number; fitting: number; isOpen: boolean };
export type NodeRow = { kind: "node"; id: string; name: string; devices: number; fitting: number; isOpen: boolean };
export type DeviceRow = { kind: "device"; id: string; item: Item };
export type Row = RackRow | NodeRow | DeviceRow;

export type Filter = { model: string; rack: string; fitsOnly: boolean };

export const GROUP_HEIGHT = 32;

const compare = new Intl.Collator("en", { numeric: true }).compare;

/** Devices in the order of their racks, nodes and ids: the same on every screen. */
export function sorted(items: Item[]): Item[] {
  return [...items].sort(
    (a, b) => compare(a.rack, b.rack) || compare(a.hostname, b.hostname) || compare(a.device, b.device),
  );
}

export function kept(items: Item[], filter: Filter): Item[] {
  return items.filter(
    (item) =>
      (filter.model === "" || item.model === filter.model) &&
      (filter.rack === "" || item.rack === filter.rack) &&
      (!filter.fitsOnly || item.free.length > 0),
  );
}

/** The different values of a field, in order: what a filter offers. */
export const choices = (items: Item[], field: "model" | "rack"): string[] =>
  [...new Set(items.map((item) => item[field]))].filter((value) => value !== "").sort(compare);

const fitting = (items: Item[]) => items.filter((item) => item.free.length > 0).length;

function grouped(items: Item[], field: "rack" | "node"): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(item[field]);
    if (group) group.push(item);
    else groups.set(item[field], [item]);
  }
  return [...groups.values()];
}

/** `closed` holds the ids of closed groups: `rack:R1`, or a node's id. */
export function rowsOf(items: Item[], closed: ReadonlySet<string>): Row[] {
  return grouped(sorted(items), "rack").flatMap((rack) => {
    const name = rack[0]?.rack ?? "";
    const id = `rack:${name}`;
    const isOpen = !closed.has(id);
    const head: Row = { kind: "rack", id, name, devices: rack.length, fitting: fitting(rack), isOpen };
    return isOpen ? [head, ...grouped(rack, "node").flatMap((node) => nodeRows(node, closed))] : [head];
  });
}

function nodeRows(node: Item[], closed: ReadonlySet<string>): Row[] {
  const id = node[0]?.node ?? "";
  const isOpen = !closed.has(id);
  const name = node[0]?.hostname ?? "";
  const head: Row = { kind: "node", id, name, devices: node.length, fitting: fitting(node), isOpen };
  return isOpen ? [head, ...node.map((item): Row => ({ kind: "device", id: item.device, item }))] : [head];
}

export const heightOf = (row: Row, range: Span): number =>
  row.kind === "device" ? rowHeight(row.item, range) : GROUP_HEIGHT;
