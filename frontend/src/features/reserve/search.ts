/** Everything that is chosen on the Reserve page, as its address says it: a link carries the whole choice. */

export type ReserveSearch = {
  memory_mib?: number;
  share_permille?: number;
  /** An offer fixes the size and the class; a size of one's own leaves it. */
  offer?: string;
  device_kind?: string;
  device?: string;
  isolation_at_least?: string;
  /** Absent is now. */
  starts_at?: string;
  /** One of the three ends, in this order: an instant, a length in seconds, none. */
  ends_at?: string;
  for_s?: number;
  open_ended?: true;
  project?: string;
  name?: string;
};

export const NAME_LIMIT = 200;
export const LARGEST_MIB = 2 ** 40;
/** The longest length that the page offers; the server looks three years ahead. */
export const LONGEST_S = 366 * 86_400;

const whole = (min: number, max: number) => (raw: unknown) => {
  const value = typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined;
};

const id = (prefix: string) => (raw: unknown) =>
  typeof raw === "string" && new RegExp(`^${prefix}_[0-9a-z]{1,40}$`).test(raw) ? raw : undefined;

const word = (raw: unknown) => (typeof raw === "string" && /^[a-z][a-z0-9-]{0,31}$/.test(raw) ? raw : undefined);

/** An instant with its offset; one without would mean another time for each reader of the link. */
const instant = (raw: unknown) => {
  if (typeof raw !== "string" || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(raw)) {
    return undefined;
  }
  const at = new Date(raw);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString().replace(".000Z", "Z");
};

/** The router reads `name=12` as a number: a name stays what was written. */
const name = (raw: unknown) => {
  const text = typeof raw === "string" ? raw : typeof raw === "number" ? String(raw) : undefined;
  return text === "" ? undefined : text && [...text].slice(0, NAME_LIMIT).join("");
};

const READERS: { [K in keyof Required<ReserveSearch>]: (raw: unknown) => ReserveSearch[K] } = {
  memory_mib: whole(1, LARGEST_MIB),
  share_permille: whole(1, 1000),
  offer: id("off"),
  device_kind: word,
  device: id("dev"),
  isolation_at_least: word,
  starts_at: instant,
  ends_at: instant,
  for_s: whole(1, LONGEST_S),
  open_ended: (raw) => (raw === true || raw === "true" ? true : undefined),
  project: id("prj"),
  name,
};

/** Reads an address leniently: what cannot be meant is left out, and `ignoredOf` names it. */
export function parseReserveSearch(raw: Record<string, unknown>): ReserveSearch {
  const read = Object.entries(READERS).map(([key, reader]) => [key, reader(raw[key])] as const);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as ReserveSearch;
}

/** The names of what an address said and could not mean. */
export function ignoredOf(raw: Record<string, unknown>): string[] {
  const understood = parseReserveSearch(raw);
  return Object.keys(READERS).filter(
    (key) => raw[key] !== undefined && raw[key] !== "" && raw[key] !== false && !(key in understood),
  );
}

/** The same choice always gives the same text. */
export function keyOf(search: ReserveSearch): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined);
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
