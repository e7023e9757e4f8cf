/** Ways out of a conflict: another device, another time, a smaller size. What the page knows and what the server says. */
import type { Alternative, Item, Size } from "./types";
import { spanOf } from "./layout";
import type { Span } from "./range";

export type Way = {
  kind: "device" | "time" | "smaller";
  device: string | null;
  span: Span;
  size: Size;
};

export type Wanted = { device: string | null; span: Span; size: Size };

const MANY = 4;

const freeSpans = (item: Item): Span[] => item.free.map(spanOf);

const holds = (free: Span, span: Span): boolean => free.from <= span.from && span.to <= free.to;

/** How near a device is to another: the same node, the same rack, the same model, none of it. */
function distance(item: Item, from: Item | undefined): number {
  if (!from) return 0;
  if (item.node === from.node) return item.model === from.model ? 0 : 1;
  if (item.rack === from.rack) return item.model === from.model ? 2 : 3;
  return item.model === from.model ? 4 : 5;
}

/** The nearest device that is free for the whole of the time. */
export function otherDevice(items: Item[], wanted: Wanted): Way | null {
  const from = items.find((item) => item.device === wanted.device);
  const [best] = items
    .filter((item) => item.device !== wanted.device && freeSpans(item).some((free) => holds(free, wanted.span)))
    .sort((a, b) => distance(a, from) - distance(b, from));
  return best ? { kind: "device", device: best.device, span: wanted.span, size: wanted.size } : null;
}

/** The start nearest to the wanted one at which the device is free for as long. */
export function otherTime(items: Item[], wanted: Wanted, earliest: number): Way | null {
  const item = items.find((one) => one.device === wanted.device);
  if (!item) return null;
  const length = wanted.span.to - wanted.span.from;
  const starts = freeSpans(item)
    .map(({ from, to }) => ({ low: Math.max(from, earliest), high: to - length }))
    .filter(({ low, high }) => low <= high)
    .map(({ low, high }) => Math.min(high, Math.max(low, wanted.span.from)))
    .sort((a, b) => Math.abs(a - wanted.span.from) - Math.abs(b - wanted.span.from));
  const [from] = starts;
  if (from === undefined || from === wanted.span.from) return null;
  return { kind: "time", device: item.device, span: { from, to: from + length }, size: wanted.size };
}

function ofServer(one: Alternative, wanted: Wanted): Way {
  const span = spanOf(one);
  const isSameSize =
    one.slice.memory_mib === wanted.size.memory_mib && one.slice.share_permille === wanted.size.share_permille;
  return {
    kind: isSameSize ? "time" : "smaller",
    device: one.device ?? null,
    span: Number.isFinite(span.to) ? span : { from: span.from, to: span.from + (wanted.span.to - wanted.span.from) },
    size: one.slice,
  };
}

const nameOf = ({ device, span, size }: Way): string =>
  [device, span.from, span.to, size.memory_mib, size.share_permille].join(" ");

/** At most four, all different, none of them what was wanted. */
export function waysOut(items: Item[], wanted: Wanted, said: Alternative[], earliest: number): Way[] {
  const own = [otherTime(items, wanted, earliest), otherDevice(items, wanted)].filter((way) => way !== null);
  const all = [...own, ...said.map((one) => ofServer(one, wanted))];
  const seen = new Set<string>([nameOf({ kind: "time", ...wanted })]);
  const different = all.filter((way) => !seen.has(nameOf(way)) && seen.add(nameOf(way)));
  // One of each kind first: three times of one device are no choice.
  const first = different.filter((way, index) => different.findIndex((other) => other.kind === way.kind) === index);
  return [...first, ...different.filter((way) => !first.includes(way))].slice(0, MANY);
}
