/** What a running slice has cost by now, between two answers of the server. Decimal text in and out, no floats. */

const SCALE = 12;
const HOUR_MS = 3_600_000n;

function scaled(amount: string): bigint {
  const found = /^(\d+)(?:\.(\d{0,12}))?$/.exec(amount);
  if (!found) throw new RangeError(`not an amount: ${amount}`);
  const [, units = "0", fraction = ""] = found;
  return BigInt(units + fraction.padEnd(SCALE, "0"));
}

/** `digits` decimals, rounded half up. */
function written(value: bigint, digits: number): string {
  const unit = 10n ** BigInt(SCALE - digits);
  const text = ((value + unit / 2n) / unit).toString().padStart(digits + 1, "0");
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

export const DIGITS = 4;

/** `amount` plus `perHour` for `ms` milliseconds. Time never runs backwards. */
export function amountAfter(amount: string, perHour: string, ms: number, digits = DIGITS): string {
  const passed = BigInt(Math.max(0, Math.round(ms)));
  return written(scaled(amount) + (scaled(perHour) * passed) / HOUR_MS, digits);
}
