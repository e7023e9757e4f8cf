/** The map's cursor under the keyboard. */
import type { KeyboardEvent } from "react";
import { reveal, zoomAt } from "@/features/fleet/camera";
import { nextCell, nodeOf, rackOf, type Direction, type Layout } from "@/features/fleet/layout";
import type { MapPainter } from "@/features/fleet/map-painter";

const ARROWS: Record<string, Direction> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
const STEP = 1.5;
/** How close a rack, a node and a device are brought. */
const CLOSE = { rack: 6, node: 10, device: 16 } as const;
export type Level = keyof typeof CLOSE;

type Keys = {
  painter: MapPainter;
  layout: Layout;
  cursor: number | null;
  setCursor: (device: number | null) => void;
  onOpen: (device: number) => void;
  onChoose: (device: number) => void;
};

/** Brings the rack, the node or the device of a cell to the middle. */
export function closeUp(painter: MapPainter, layout: Layout, device: number, level: Level): void {
  const rect = { rack: rackOf(layout, device), node: nodeOf(layout, device), device: layout.cells[device] ?? null }[level];
  if (rect) painter.showRect(rect, CLOSE[level]);
}

/** The level below the one that is shown now: racks, then nodes, then devices. */
export function nextLevel(scale: number): Level {
  return scale < 2.2 ? "rack" : scale < 4.2 ? "node" : "device";
}

export function useMapKeys({ painter, layout, cursor, setCursor, onOpen, onChoose }: Keys) {
  const go = (device: number) => {
    if (device < 0) return;
    setCursor(device);
    const cell = layout.cells[device];
    if (cell) painter.move((camera) => reveal(camera, cell, painter.window()));
  };
  const zoom = (factor: number) => {
    const { w, h } = painter.window();
    painter.move((camera) => zoomAt(camera, factor, { x: w / 2, y: h / 2 }, painter.world(), { w, h }));
  };
  const toRack = (step: number) => {
    const here = cursor === null ? null : rackOf(layout, cursor);
    const place = here ? layout.racks.indexOf(here) + step : 0;
    const first = layout.racks[Math.min(Math.max(place, 0), layout.racks.length - 1)]?.nodes.find((node) => node.cells.length > 0);
    go(first?.cells[0]?.device ?? -1);
  };
  return (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    if (arrow) go(cursor === null ? layout.cells.findIndex(Boolean) : nextCell(layout, cursor, arrow));
    else if (event.key === "PageDown") toRack(1);
    else if (event.key === "PageUp") toRack(-1);
    else if (event.key === "Home") go(layout.cells.findIndex(Boolean));
    else if (event.key === "End") go(layout.cells.length - 1);
    else if (event.key === "+" || event.key === "=") zoom(STEP);
    else if (event.key === "-") zoom(1 / STEP);
    else if (event.key === "0") painter.fitAll();
    else if (event.key === "Escape") setCursor(null);
    else if (event.key === "Enter" && cursor !== null) onOpen(cursor);
    else if (event.key === " " && cursor !== null) onChoose(cursor);
    else return;
    event.preventDefault();
  };
}
