/** Sums of amounts as the server writes them: decimal text in, decimal text out, no floats. */

const SCALE = 12;

function scaled(amount: string): bigint {
  const found = /^(-?)(\d+)(?:\.(\d*))?$/.exec(amount);
  if (!found) throw new RangeError(`not an amount: ${amount}`);
  const [, sign = "", units = "0", fraction = ""] = found;
  if (fraction.length > SCALE) throw new RangeError(`too many decimals: ${amount}`);
  const value = BigInt(units + fraction.padEnd(SCALE, "0"));
  return sign ? -value : value;
}

function written(value: bigint): string {
  const digits = (value < 0n ? -value : value).toString().padStart(SCALE + 1, "0");
  const fraction = digits.slice(-SCALE).replace(/0+$/, "").padEnd(2, "0");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -SCALE)}.${fraction}`;
}

export const addAmounts = (...amounts: string[]): string =>
  written(amounts.reduce((sum, amount) => sum + scaled(amount), 0n));

export const subtractAmounts = (from: string, amount: string): string => written(scaled(from) - scaled(amount));

/** Rounded half away from zero, for where columns of figures are read at a glance: "2.8625" -> "2.86". */
export function roundAmount(amount: string, digits: number): string {
  const unit = 10n ** BigInt(SCALE - digits);
  const value = scaled(amount);
  const half = value < 0n ? -unit / 2n : unit / 2n;
  return written(((value + half) / unit) * unit);
}

/** -1, 0 or 1, as a sort wants it. */
export function compareAmounts(a: string, b: string): number {
  const difference = scaled(a) - scaled(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** For a drawing only: a chart's pixel needs no cents. */
export const amountToNumber = (amount: string): number => Number(amount);

/** A permille part of an amount, rounded half up to four decimals: for showing, never for charging. */
export function partOfAmount(amount: string, permille: number): string {
  const unit = 10n ** BigInt(SCALE - 4) * 1000n;
  const exact = scaled(amount) * BigInt(permille);
  const sign = exact < 0n ? -1n : 1n;
  return written((sign * ((sign * exact * 2n + unit) / (2n * unit)) * unit) / 1000n);
}
