/** Where the pieces of a device are drawn: a lane each, as high as the largest share in it. */
import type { Item, Piece } from "./types";
import { overlaps, placeOf, type Span } from "./range";

/** A whole device is four times as high as the smallest lane. */
const WHOLE_PX = 72;
const LEAST_PX = 24;
const GAP_PX = 2;
const EDGE_PX = 3;
/** Room under the lanes to drag over and to see what is free. */
const FREE_PX = 20;
const LEAST_ROW_PX = 40;

export type Lane = { top: number; height: number };
export type Box = {
  piece: Piece;
  left: number;
  width: number;
  top: number;
  height: number;
  cutLeft: boolean;
  cutRight: boolean;
  /** Too narrow, and too near another one, to be hit for sure: not a target. */
  isTight: boolean;
};

type Period = { starts_at: string; ends_at?: string | null };

/** A thousand devices have many thousand texts of times: each is read once. */
const read = new WeakMap<Period, Span>();

/** No end is infinity. */
export function spanOf(period: Period): Span {
  let span = read.get(period);
  if (!span) {
    const to = period.ends_at == null ? Number.POSITIVE_INFINITY : Date.parse(period.ends_at);
    span = { from: Date.parse(period.starts_at), to };
    read.set(period, span);
  }
  return span;
}

/** What a piece takes of its device: the larger of its two shares, in permille. */
export function dominantOf(piece: Piece, item: Item): number {
  const memory = item.capacity_mib > 0 ? Math.ceil((piece.memory_mib * 1000) / item.capacity_mib) : 0;
  const compute = item.capacity_permille > 0 ? Math.ceil((piece.share_permille * 1000) / item.capacity_permille) : 0;
  return Math.min(1000, Math.max(memory, compute));
}

const pixels = (share: number): number => Math.max(LEAST_PX, Math.round((share * WHOLE_PX) / 1000));

export const visible = (item: Item, range: Span): Piece[] => item.pieces.filter((one) => overlaps(spanOf(one), range));

/** Lanes that are empty on this screen take no room. */
export function lanesOf(item: Item, range: Span): Map<number, Lane> {
  const heights = new Map<number, number>();
  for (const piece of visible(item, range)) {
    heights.set(piece.lane, Math.max(heights.get(piece.lane) ?? 0, pixels(dominantOf(piece, item))));
  }
  const lanes = new Map<number, Lane>();
  let top = EDGE_PX;
  for (const [lane, height] of [...heights].sort(([a], [b]) => a - b)) {
    lanes.set(lane, { top, height });
    top += height + GAP_PX;
  }
  return lanes;
}

function lanesEnd(item: Item, range: Span): number {
  let end = EDGE_PX;
  for (const lane of lanesOf(item, range).values()) end = Math.max(end, lane.top + lane.height + GAP_PX);
  return end;
}

export const rowHeight = (item: Item, range: Span): number =>
  Math.max(LEAST_ROW_PX, lanesEnd(item, range) + FREE_PX);

/** A target's least width (WCAG 2.5.8). */
const TARGET_PX = 24;

/** Two circles of a target's size around the middles of two targets must not touch. */
function isTight(box: Box, boxes: Box[], width: number): boolean {
  const middle = (one: Box) => (one.left + one.width / 2) * width;
  if (box.width * width >= TARGET_PX) return false;
  return boxes.some((other) => {
    if (other === box || other.piece.lane !== box.piece.lane || other.piece.reservation === null) return false;
    const reach = Math.max(TARGET_PX, other.width * width) / 2 + TARGET_PX / 2;
    return Math.abs(middle(other) - middle(box)) < reach;
  });
}

/** Fractions of the range's width, pixels of the row's height. `width` is the range's, in pixels. */
export function boxesOf(item: Item, range: Span, width: number): Box[] {
  const boxes = placed(item, range);
  return boxes.map((box) => ({ ...box, isTight: isTight(box, boxes, width) }));
}

function placed(item: Item, range: Span): Box[] {
  const lanes = lanesOf(item, range);
  return visible(item, range).map((piece) => {
    const span = spanOf(piece);
    const lane = lanes.get(piece.lane) ?? { top: EDGE_PX, height: LEAST_PX };
    const height = pixels(dominantOf(piece, item));
    const cut = { cutLeft: span.from < range.from, cutRight: span.to > range.to };
    return { piece, ...stretch(span, range), top: lane.top, height, ...cut, isTight: false };
  });
}

/** The part of a span that is on screen, as fractions of the range. */
export function stretch(span: Span, range: Span): { left: number; width: number } {
  const left = Math.max(0, placeOf(span.from, range));
  return { left, width: Math.max(0, Math.min(1, placeOf(span.to, range)) - left) };
}
