/** Quantities with their kind in the type, and how they are written. */
import { language } from "@/lib/i18n";

declare const kind: unique symbol;
type Branded<K extends string> = number & { readonly [kind]: K };

/** Memory in whole MiB. */
export type Mib = Branded<"mib">;
/** Compute as thousandths of one device. */
export type Permille = Branded<"permille">;
/** Money in hundredths of its currency's unit. */
export type Cents = Branded<"cents">;

function whole<T extends number>(value: number, name: string): T {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${name} must be a whole number, not ${value}`);
  return value as T;
}

export const mib = (value: number): Mib => whole<Mib>(value, "memory in MiB");
export const permille = (value: number): Permille => whole<Permille>(value, "a share in permille");
export const cents = (value: number): Cents => whole<Cents>(value, "cents");

export const UNKNOWN = "n/a";
const SPACE = "\u00a0";
const MINUS = "\u2212";

// Making one costs a hundred times what using one does, and tables use thousands.
const formats = new Map<number, Intl.NumberFormat>();

/** At most `digits` decimals, no trailing zeros, thousands apart. */
function plain(value: number, digits: number): string {
  let format = formats.get(digits);
  if (!format) {
    format = new Intl.NumberFormat("en-GB", { maximumFractionDigits: digits });
    formats.set(digits, format);
  }
  return format.format(value).replace("-", MINUS);
}

export const formatNumber = (value: number | null | undefined, digits = 0): string =>
  value === null || value === undefined ? UNKNOWN : plain(value, digits);

/** 512 -> "512 MiB", 12288 -> "12 GiB", 1536 -> "1.5 GiB". */
export function formatMemory(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (Math.abs(value) < 1024) return `${plain(value, 0)}${SPACE}MiB`;
  if (Math.abs(value) < 1024 * 1024) return `${plain(value / 1024, 2)}${SPACE}GiB`;
  return `${plain(value / 1024 / 1024, 2)}${SPACE}TiB`;
}

/** 250 -> "25 %", 125 -> "12.5 %". */
export function formatShare(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : `${plain(value / 10, 1)}${SPACE}%`;
}

/** Milliwatts as watts. */
export function formatPower(milliwatts: number | null | undefined): string {
  return milliwatts === null || milliwatts === undefined ? UNKNOWN : `${plain(milliwatts / 1000, 1)}${SPACE}W`;
}

/**
 * An amount as the server wrote it, digit for digit (no floats): at least two decimals, thousands apart, with its
 * currency: "1234.5000", "EUR" -> "1,234.50 EUR".
 */
export function formatMoney(amount: string | null | undefined, currency: string): string {
  if (amount === null || amount === undefined) return UNKNOWN;
  const found = /^(-?)(\d+)(?:\.(\d*))?$/.exec(amount);
  if (!found) throw new RangeError(`not an amount: ${amount}`);
  const [, sign = "", units = "0", fraction = ""] = found;
  const decimals = fraction.replace(/0+$/, "").padEnd(2, "0");
  const grouped = units.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${sign ? MINUS : ""}${grouped}.${decimals}${SPACE}${currency}`;
}

const WORDS = {
  en: { d: "d", h: "h", min: "min", s: "s" },
  zh: { d: "天", h: "小时", min: "分钟", s: "秒" },
} as const;

/** 11,100 s -> "3 h 5 min": the two largest units. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  const word = WORDS[language()];
  const left = Math.max(0, Math.round(seconds));
  const parts: [number, string][] = [
    [Math.floor(left / 86_400), word.d],
    [Math.floor(left / 3_600) % 24, word.h],
    [Math.floor(left / 60) % 60, word.min],
    [left % 60, word.s],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return `0${SPACE}${word.s}`;
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${SPACE}${unit}`)
    .join(" ");
}

/** A countdown, "1:02:09" or "4:07"; never below zero. */
export function formatClock(seconds: number): string {
  const left = Math.max(0, Math.ceil(seconds));
  const pad = (n: number) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
  return h > 0 ? `${h}:${pad(m)}:${pad(s)}` : `${m}:${pad(s)}`;
}
