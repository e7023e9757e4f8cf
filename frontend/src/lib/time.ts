/** Instants and wall clocks. An instant is a Date or an ISO string; a wall clock is what a clock in a zone shows. */

export { serverNow } from "@/lib/clock";

export type WallClock = { year: number; month: number; day: number; hour: number; minute: number; second: number };
export type ZonedParts = WallClock & { offset_minutes: number };

/** What a wall clock means: one instant, none (clocks jump over it), or two (clocks are set back). */
export type Resolved =
  | { kind: "one"; at: Date }
  | { kind: "gap"; /** The same time by the clock before the jump: what a clock shows then. */ shifted: Date }
  | { kind: "overlap"; earlier: Date; later: Date };

const DAY = 86_400_000;
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat {
  let clock = clocks.get(zone);
  if (!clock) {
    clock = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    clocks.set(zone, clock);
  }
  return clock;
}

/** True for a zone that this browser knows. */
export function isZone(zone: string): boolean {
  try {
    clockOf(zone);
    return true;
  } catch {
    return false;
  }
}

export const browserZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

export const toDate = (at: Date | string | number): Date => (at instanceof Date ? at : new Date(at));

function wallOf(ms: number, zone: string): WallClock {
  const found: Record<string, number> = {};
  for (const part of clockOf(zone).formatToParts(ms)) found[part.type] = Number(part.value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = found;
  return { year, month, day, hour, minute, second };
}

const asUtc = (wall: WallClock): number =>
  Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute, wall.second);

/** Local time less UTC, in ms, at an instant. */
function offsetAt(ms: number, zone: string): number {
  const whole = Math.floor(ms / 1000) * 1000;
  return asUtc(wallOf(whole, zone)) - whole;
}

/** What a clock in `zone` shows at an instant. */
export function zonedParts(at: Date | string | number, zone: string): ZonedParts {
  const ms = toDate(at).getTime();
  return { ...wallOf(ms, zone), offset_minutes: offsetAt(ms, zone) / 60_000 };
}

/** `2026-03-29T02:30` or `2026-03-29 02:30[:00]` as a wall clock; null when it is not one. */
export function parseLocal(local: string): WallClock | null {
  const found = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(local.trim());
  if (!found) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1).map((n) => Number(n ?? 0));
  const wall = { year, month, day, hour, minute, second };
  const back = wallOf(asUtc(wall), "UTC");
  const same = back.year === year && back.month === month && back.day === day && back.hour === hour;
  return same && back.minute === minute && back.second === second ? wall : null;
}

/** The instant(s) that a wall clock in a zone means. Throws RangeError for a text that is no date and time. */
export function toInstant(local: string | WallClock, zone: string): Resolved {
  const wall = typeof local === "string" ? parseLocal(local) : local;
  if (!wall) throw new RangeError(`not a local date and time: ${String(local)}`);
  const naive = asUtc(wall);
  const before = offsetAt(naive - DAY, zone);
  const after = offsetAt(naive + DAY, zone);
  const fits = [...new Set([before, after])]
    .map((offset) => ({ ms: naive - offset, offset }))
    .filter(({ ms, offset }) => offsetAt(ms, zone) === offset)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
  const [first, second] = fits;
  if (first === undefined) return { kind: "gap", shifted: new Date(naive - before) };
  if (second === undefined) return { kind: "one", at: new Date(first) };
  return { kind: "overlap", earlier: new Date(first), later: new Date(second) };
}

/** The instant for a wall clock where any sensible choice will do: the earlier of two, the shifted one of none. */
export function nearestInstant(local: string | WallClock, zone: string): Date {
  const found = toInstant(local, zone);
  if (found.kind === "one") return found.at;
  return found.kind === "gap" ? found.shifted : found.earlier;
}

/** The first instant of the day, in a zone, that holds an instant (a day may start at 01:00). */
export function startOfDay(at: Date | string | number, zone: string): Date {
  const parts = zonedParts(at, zone);
  return nearestInstant({ ...parts, hour: 0, minute: 0, second: 0 }, zone);
}

/** The same wall clock `days` later; days have 23 to 25 hours. */
export function addDays(at: Date | string | number, days: number, zone: string): Date {
  const parts = zonedParts(at, zone);
  const moved = wallOf(asUtc(parts) + days * DAY, "UTC");
  return nearestInstant(moved, zone);
}

const pad = (n: number) => String(n).padStart(2, "0");

/** `2026-03-29T02:30`: what a datetime-local field takes. */
export function toLocalText(at: Date | string | number, zone: string): string {
  const p = zonedParts(at, zone);
  return `${String(p.year).padStart(4, "0")}-${pad(p.month)}-${pad(p.day)}T${pad(p.hour)}:${pad(p.minute)}`;
}

/** `UTC+05:30` */
export function offsetText(at: Date | string | number, zone: string): string {
  const minutes = Math.round(zonedParts(at, zone).offset_minutes);
  const sign = minutes < 0 ? "-" : "+";
  return `UTC${sign}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`;
}
