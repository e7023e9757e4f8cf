/** Draws the map: all of it, or only the cells that changed. Plain functions of what they are given. */
import { toScreen, type Camera, type Size } from "@/features/fleet/camera";
import { colourOf, type Palette, type Scheme } from "@/features/fleet/colours";
import type { Cell, Layout, NodeBox, RackBox, Rect } from "@/features/fleet/layout";
import { ILL, metricOf, sliceUse, WELL, type Fleet, type FleetSlice, type Metric, type Range } from "@/features/fleet/model";

export type Scene = {
  fleet: Fleet;
  layout: Layout;
  metric: Metric;
  range: Range;
  ramp: readonly string[];
  palette: Palette;
  scheme: Scheme;
  /** By device: its figures are old. */
  stale: readonly boolean[];
  /** By device: the filter leaves it out. Null when there is no filter. */
  faded: readonly boolean[] | null;
  noRack: string;
};

const SPLIT_FROM = 9;
const BARS_FROM = 22;
const TEXT_FROM = 86;
const FADED = 0.18;

const rounded = (rect: Rect): Rect => {
  const x = Math.round(rect.x);
  const y = Math.round(rect.y);
  return { x, y, w: Math.max(1, Math.round(rect.x + rect.w) - x), h: Math.max(1, Math.round(rect.y + rect.h) - y) };
};

const inSight = (rect: Rect, window: Size) =>
  rect.x < window.w && rect.y < window.h && rect.x + rect.w > 0 && rect.y + rect.h > 0;

/** Everything. */
export function paintAll(ctx: CanvasRenderingContext2D, scene: Scene, camera: Camera, window: Size): void {
  ctx.fillStyle = scene.palette.page;
  ctx.fillRect(0, 0, window.w, window.h);
  for (const rack of scene.layout.racks) {
    const box = rounded(toScreen(camera, rack));
    if (inSight(box, window)) paintRack(ctx, scene, camera, window, rack, box);
  }
}

/** Only these devices: the rest of the picture stands. */
export function paintCells(ctx: CanvasRenderingContext2D, scene: Scene, camera: Camera, window: Size, devices: Iterable<number>): void {
  for (const device of devices) {
    const cell = scene.layout.cells[device];
    if (!cell) continue;
    const box = rounded(toScreen(camera, cell));
    if (!inSight(box, window)) continue;
    ctx.fillStyle = scene.palette.panel;
    ctx.fillRect(box.x - 1, box.y - 1, box.w + 2, box.h + 2);
    paintCell(ctx, scene, cell, box);
  }
}

function paintRack(ctx: CanvasRenderingContext2D, scene: Scene, camera: Camera, window: Size, rack: RackBox, box: Rect): void {
  ctx.fillStyle = scene.palette.panel;
  ctx.fillRect(box.x, box.y, box.w, box.h);
  ctx.strokeStyle = scene.palette.line;
  ctx.lineWidth = 1;
  ctx.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
  // From afar as well: whoever looks at the whole wall looks for a rack first.
  const size = Math.min(13, Math.max(9, camera.scale * 11));
  if (box.w >= 48) {
    ctx.fillStyle = scene.palette.text;
    ctx.font = `600 ${size}px system-ui, sans-serif`;
    ctx.textBaseline = "alphabetic";
    ctx.fillText(rack.name || scene.noRack, box.x + 6 * camera.scale, box.y + Math.max(10, 11.5 * camera.scale), box.w - 8);
  }
  for (const node of rack.nodes) {
    const at = rounded(toScreen(camera, node));
    if (inSight(at, window)) paintNode(ctx, scene, camera, window, node, at);
  }
}

function paintNode(ctx: CanvasRenderingContext2D, scene: Scene, camera: Camera, window: Size, node: NodeBox, box: Rect): void {
  const row = scene.fleet.nodes[node.index];
  for (const cell of node.cells) {
    const at = rounded(toScreen(camera, cell));
    if (inSight(at, window)) paintCell(ctx, scene, cell, at);
  }
  const size = camera.scale * 6;
  if (row && size >= 8) {
    ctx.fillStyle = scene.palette.dimmed;
    ctx.font = `${Math.min(12, size)}px system-ui, sans-serif`;
    ctx.fillText(row.hostname, box.x, box.y + 6 * camera.scale, box.w);
  }
  if (row?.cordoned) hatch(ctx, scene.palette, box);
}

/** Slanted lines over what takes nothing new. */
function hatch(ctx: CanvasRenderingContext2D, palette: Palette, box: Rect): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.x, box.y, box.w, box.h);
  ctx.clip();
  ctx.beginPath();
  for (let x = box.x - box.h; x < box.x + box.w; x += 7) {
    ctx.moveTo(x, box.y + box.h);
    ctx.lineTo(x + box.h, box.y);
  }
  ctx.strokeStyle = palette.hatch;
  ctx.lineWidth = 1;
  ctx.stroke();
  ctx.restore();
}

function paintCell(ctx: CanvasRenderingContext2D, scene: Scene, cell: Cell, box: Rect): void {
  const { fleet, palette, metric } = scene;
  const device = cell.device;
  ctx.globalAlpha = scene.faded?.[device] ? FADED : 1;
  ctx.fillStyle = palette.free;
  ctx.fillRect(box.x, box.y, box.w, box.h);
  const value = metricOf(fleet, device, metric);
  const isOfSlices = metric === "use" || metric === "allocated";
  if (!isOfSlices || box.w < SPLIT_FROM) fill(ctx, scene, box, value);
  if (box.w >= SPLIT_FROM) paintSlices(ctx, scene, device, box, isOfSlices);
  border(ctx, palette, box, fleet.devices.health[device] ?? null);
  if (scene.stale[device]) dot(ctx, palette, box);
  if (box.w >= TEXT_FROM) label(ctx, scene, device, box, value);
  ctx.globalAlpha = 1;
}

function fill(ctx: CanvasRenderingContext2D, scene: Scene, box: Rect, value: number | null): void {
  const colour = colourOf(value, scene.range, scene.ramp);
  if (colour === null) return;
  ctx.fillStyle = colour;
  ctx.fillRect(box.x, box.y, box.w, box.h);
}

/** Side by side, as wide as their memory; the bar inside is as high as their compute. */
function paintSlices(ctx: CanvasRenderingContext2D, scene: Scene, device: number, box: Rect, tinted: boolean): void {
  const { fleet, palette } = scene;
  const capacity = fleet.devices.capacity_mib[device] || 1;
  let left = box.x;
  for (const slice of fleet.devices.slices[device] ?? []) {
    const w = Math.max(1, (slice.memory_mib / capacity) * box.w);
    if (tinted) tint(ctx, scene, slice, { ...box, x: left, w });
    if (box.w >= BARS_FROM) bar(ctx, scene, slice, { ...box, x: left, w });
    if (slice.mine) {
      ctx.fillStyle = palette.accent;
      ctx.fillRect(left, box.y, w, Math.max(2, box.h * 0.1));
    }
    left += w;
    ctx.fillStyle = palette.panel;
    ctx.fillRect(Math.round(left) - 1, box.y, 1, box.h);
  }
}

function tint(ctx: CanvasRenderingContext2D, scene: Scene, slice: FleetSlice, box: Rect): void {
  const use = scene.metric === "allocated" ? 0.5 : sliceUse(slice);
  const colour = colourOf(use === null ? null : use * 100, scene.range, scene.ramp);
  if (colour !== null) {
    ctx.fillStyle = colour;
    ctx.fillRect(box.x, box.y, box.w, box.h);
    return;
  }
  // Taken, but nobody knows how much of it is used: an outline says so, no colour does.
  ctx.strokeStyle = scene.palette.strong;
  ctx.lineWidth = 1;
  ctx.strokeRect(Math.round(box.x) + 0.5, box.y + 0.5, Math.max(1, Math.round(box.w) - 2), box.h - 1);
}

function bar(ctx: CanvasRenderingContext2D, scene: Scene, slice: FleetSlice, box: Rect): void {
  const w = Math.min(Math.max(2, box.w * 0.22), 10);
  const h = Math.max(1, (slice.share_permille / 1000) * (box.h - 2));
  ctx.fillStyle = scene.scheme === "dark" ? "rgba(255, 255, 255, 0.62)" : "rgba(10, 20, 35, 0.55)";
  ctx.fillRect(box.x + Math.min(3, box.w * 0.12), box.y + box.h - 1 - h, w, h);
}

/** Thicker and darker the worse it is; thin for well and for unknown. */
function border(ctx: CanvasRenderingContext2D, palette: Palette, box: Rect, health: number | null): void {
  const isPoor = health !== null && health < WELL;
  const isIll = health !== null && health < ILL;
  const width = box.w < SPLIT_FROM ? 1 : isIll ? 3 : isPoor ? 2 : 1;
  ctx.lineWidth = width;
  ctx.strokeStyle = isIll ? palette.ill : isPoor ? palette.poor : palette.line;
  ctx.strokeRect(box.x + width / 2, box.y + width / 2, box.w - width, box.h - width);
}

function dot(ctx: CanvasRenderingContext2D, palette: Palette, box: Rect): void {
  const radius = Math.min(5, Math.max(1.5, box.h * 0.16));
  ctx.beginPath();
  ctx.arc(box.x + box.w - radius - 2, box.y + radius + 2, radius, 0, 2 * Math.PI);
  ctx.fillStyle = palette.stale;
  ctx.fill();
  ctx.strokeStyle = palette.panel;
  ctx.lineWidth = 1;
  ctx.stroke();
}

const UNITS: Record<Metric, string> = { use: " %", allocated: " %", temperature: " °C", power: " W", health: "" };

export const written = (value: number | null, metric: Metric): string =>
  value === null ? "n/a" : `${Math.round(value)}${UNITS[metric]}`;

/** Close up, a cell says its model and its figure on a ground of its own, so that no tint swallows them. */
function label(ctx: CanvasRenderingContext2D, scene: Scene, device: number, box: Rect, value: number | null): void {
  const size = Math.min(12, box.h * 0.2);
  ctx.font = `${size}px system-ui, sans-serif`;
  ctx.textBaseline = "alphabetic";
  const lines = [scene.fleet.devices.model[device] ?? "", written(value, scene.metric)];
  const width = Math.min(box.w - 6, Math.max(...lines.map((line) => ctx.measureText(line).width)) + 8);
  ctx.fillStyle = scene.palette.panel;
  ctx.globalAlpha *= 0.86;
  ctx.fillRect(box.x + box.w - width - 3, box.y + box.h - 3 - size * 2.7, width, size * 2.7);
  ctx.globalAlpha = scene.faded?.[device] ? FADED : 1;
  ctx.fillStyle = scene.palette.text;
  lines.forEach((line, number) => {
    ctx.fillText(line, box.x + box.w - width + 1, box.y + box.h - 3 - size * (1.55 - number * 1.2), width - 8);
  });
}

/** What moves with the pointer, on a canvas of its own: the cursor, what is pointed at, what is chosen. */
export function paintMarks(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  camera: Camera,
  window: Size,
  marks: { cursor: number | null; hover: number | null; chosen: ReadonlySet<number> },
): void {
  ctx.clearRect(0, 0, window.w, window.h);
  const outline = (device: number | null, width: number, colour: string, gap: number) => {
    const cell = device === null ? undefined : scene.layout.cells[device];
    if (!cell) return;
    const box = rounded(toScreen(camera, cell));
    ctx.lineWidth = width;
    ctx.strokeStyle = colour;
    ctx.strokeRect(box.x - gap, box.y - gap, box.w + 2 * gap, box.h + 2 * gap);
  };
  for (const device of marks.chosen) {
    const cell = scene.layout.cells[device];
    if (!cell) continue;
    const box = rounded(toScreen(camera, cell));
    ctx.globalAlpha = 0.28;
    ctx.fillStyle = scene.palette.accent;
    ctx.fillRect(box.x, box.y, box.w, box.h);
    ctx.globalAlpha = 1;
    outline(device, 2, scene.palette.accent, 0);
  }
  outline(marks.hover, 1.5, scene.palette.text, 1);
  outline(marks.cursor, 2.5, scene.palette.panel, 1);
  outline(marks.cursor, 2.5, scene.palette.accent, 3);
}
