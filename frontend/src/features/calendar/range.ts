/** What part of time is on screen. Days are those of a zone's clock: 23, 24 or 25 hours long, drawn as long as they are. */
import { nearestInstant, offsetText, startOfDay, toLocalText, zonedParts } from "@/lib/time";

export const STEP_MS = 900_000;
export const HOUR_MS = 3_600_000;
/** The column of names; as in the style sheet. */
export const LABEL_PX = 188;

export const VIEWS = ["day", "3days", "week"] as const;
export type View = (typeof VIEWS)[number];
const LENGTH: Record<View, number> = { day: 1, "3days": 3, week: 7 };

/** `date` is the day by the zone's clock, `2027-03-28`. */
export type Day = { date: string; from: number; to: number };
export type Range = { from: number; to: number; days: Day[] };
export type Span = { from: number; to: number };
/** `offset` is told where the same clock time comes twice that day. */
export type Tick = { at: number; label: string; offset: string | null };

const pad = (n: number) => String(n).padStart(2, "0");

export const isDate = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && shiftDate(text, 0) === text;

/** Which day it is at an instant, by the zone's clock. */
export function dateOf(at: number, zone: string): string {
  const { year, month, day } = zonedParts(at, zone);
  return `${String(year).padStart(4, "0")}-${pad(month)}-${pad(day)}`;
}

/** Days of the calendar, not of 24 hours. */
export function shiftDate(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

export function mondayOf(date: string): string {
  return shiftDate(date, -((new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7));
}

const startOf = (date: string, zone: string): number =>
  startOfDay(nearestInstant(`${date}T12:00`, zone), zone).getTime();

/** A week begins on its Monday, the other views on the day itself. */
export function rangeOf(view: View, date: string, zone: string): Range {
  const first = view === "week" ? mondayOf(date) : date;
  const starts = Array.from({ length: LENGTH[view] + 1 }, (_, index) => startOf(shiftDate(first, index), zone));
  const days = starts.slice(0, -1).map((from, index) => {
    return { date: shiftDate(first, index), from, to: starts[index + 1] ?? from };
  });
  return { from: starts[0] ?? 0, to: starts[starts.length - 1] ?? 0, days };
}

/** The date that the next or previous screen shows. */
export const turn = (view: View, date: string, direction: 1 | -1): string =>
  shiftDate(view === "week" ? mondayOf(date) : date, direction * LENGTH[view]);

/** Whole hours of the zone's clock, each `every` hours; an hour that comes twice is there twice. */
export function ticksOf(day: Day, zone: string, every: number): Tick[] {
  const found: { at: number; hour: number }[] = [];
  for (let at = day.from; at < day.to; at += STEP_MS) {
    const { hour, minute } = zonedParts(at, zone);
    if (minute === 0 && hour % every === 0) found.push({ at, hour });
  }
  return found.map(({ at, hour }) => {
    const isTwice = found.some((other) => other.hour === hour && other.at !== at);
    return { at, label: `${pad(hour)}:00`, offset: isTwice ? offsetText(at, zone) : null };
  });
}

export const hoursOf = (day: Day): number => (day.to - day.from) / HOUR_MS;

/** Every zone in use is off UTC by whole quarters of an hour, so a quarter of UTC is one of its clock too. */
export const snapDown = (at: number): number => Math.floor(at / STEP_MS) * STEP_MS;

export const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** `2027-03-28T03:00:00+02:00`: an instant as the zone's clock shows it, with its offset. */
export function withOffset(at: number, zone: string): string {
  return `${toLocalText(at, zone)}:00${offsetText(at, zone).replace("UTC", "")}`;
}

/** How far along the range an instant lies, 0 to 1; outside it is less or more. */
export const placeOf = (at: number, range: Span): number => (at - range.from) / (range.to - range.from);

export const overlaps = (a: Span, b: Span): boolean => a.from < b.to && b.from < a.to;
