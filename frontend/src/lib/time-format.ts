/** How instants are written on screen, in the language and the zone that the viewer chose. */
import { language } from "@/lib/i18n";
import { toDate } from "@/lib/time";

export type Detail = "time" | "date" | "short" | "exact";

const DETAILS: Record<Detail, Intl.DateTimeFormatOptions> = {
  time: { hour: "2-digit", minute: "2-digit" },
  date: { weekday: "short", day: "numeric", month: "short" },
  short: { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
  exact: {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  },
};

const LOCALES = { en: "en-GB", zh: "zh-CN" } as const;
const formats = new Map<string, Intl.DateTimeFormat>();

export const locale = (): string => LOCALES[language()];

/** An instant in a zone; `exact` names the zone. */
export function formatInstant(at: Date | string | number, zone: string, detail: Detail = "short"): string {
  const key = `${locale()} ${zone} ${detail}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat(locale(), { ...DETAILS[detail], timeZone: zone, hourCycle: "h23" });
    formats.set(key, format);
  }
  return format.format(toDate(at));
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** "in 3 hours", "5 minutes ago", "now", rounded towards now. */
export function formatRelative(at: Date | string | number, now: number): string {
  const seconds = (toDate(at).getTime() - now) / 1000;
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "short" });
  for (const [unit, size] of STEPS) {
    const count = Math.trunc(seconds / size);
    // A day and a half is told in hours: "tomorrow" would be too vague to plan by.
    if (count !== 0 && !(unit === "day" && Math.abs(count) < 2)) return format.format(count, unit);
  }
  return format.format(0, "second");
}
