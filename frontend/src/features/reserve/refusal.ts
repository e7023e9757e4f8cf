/** Why not, and what would do instead: from a quote that says no, or from a purchase that was refused. */
import { endOf } from "@/features/reserve/period";
import type { Size } from "@/features/reserve/proportion";
import type { ReserveSearch } from "@/features/reserve/search";
import type { Schema } from "@/lib/api";
import { NEVER } from "@/lib/constraints";
import type { Problem } from "@/lib/problem";

export type Refusal = Schema<"Refusal">;

/** What a constraint is called in the catalogue of messages; the server may name new ones. */
export const CONSTRAINTS = [
  "other_device",
  "other_kind",
  "isolation",
  "larger_than_device",
  "offline",
  "cordoned",
  "settling",
  "standby",
  "maintenance",
  "in_use",
  "taken_whole",
  "memory",
  "compute",
  "memory_and_compute",
  "impossible_shape",
  "other_model",
  "other_pool",
  "other_site",
  "unhealthy",
  "copy_bandwidth",
  "mig_slot",
  "host_cores",
  "host_memory",
  "not_together",
  "other_terms",
  "kept_for_queue",
  "quota_share_permille",
  "quota_memory_mib",
  "quota_reservations",
] as const;
export type Constraint = (typeof CONSTRAINTS)[number];

export const isConstraint = (name: string): name is Constraint => (CONSTRAINTS as readonly string[]).includes(name);

/** Constraints, the one that rules out most devices first. */
export function constraintsOf(refusal: Refusal): { name: string; count: number }[] {
  return Object.entries(refusal.constraints)
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

/** Some device is only busy or away: waiting may help. */
export const mayComeFree = (refusal: Refusal): boolean =>
  refusal.code === "no_capacity" && Object.keys(refusal.constraints).some((name) => !NEVER.has(name));

const CAPACITY = new Set(["no_capacity", "quota_exceeded"]);

/** The refusal that a failed purchase carries; null when it failed for another reason. */
export function refusalIn(problem: Problem): Refusal | null {
  if (!CAPACITY.has(problem.code)) return null;
  const { constraints = {}, next_free_at = null, nearest = [], alternatives = [] } = problem.data as Partial<Refusal>;
  const { code, detail, suggestion } = problem;
  return { code, detail, suggestion, constraints, next_free_at, nearest, alternatives };
}

/** Something that fits, to be taken with one click. */
export type Way =
  | { kind: "later"; starts_at: string; ends_at: string | null; size: Size | null }
  | { kind: "smaller"; size: Size }
  | { kind: "any_device" };

const keyOfSize = (size: Size) => `${size.memory_mib}/${size.share_permille}`;

/** The nearest that fit: later first, then smaller sizes, then another device; each once. */
export function waysOf(refusal: Refusal, asked: Size | null, isDeviceFixed: boolean): Way[] {
  const later = refusal.alternatives.filter((one) => one.kind === "later");
  const ways: Way[] = later.map((one) => ({
    kind: "later",
    starts_at: one.starts_at,
    ends_at: one.ends_at,
    size: asked && keyOfSize(one.slice) === keyOfSize(asked) ? null : one.slice,
  }));
  if (ways.length === 0 && refusal.next_free_at !== null) {
    ways.push({ kind: "later", starts_at: refusal.next_free_at, ends_at: null, size: null });
  }
  const sizes = [...refusal.alternatives.filter((one) => one.kind === "smaller").map((one) => one.slice), ...refusal.nearest];
  const seen = new Set<string>();
  for (const size of sizes) {
    if (seen.has(keyOfSize(size))) continue;
    seen.add(keyOfSize(size));
    ways.push({ kind: "smaller", size });
  }
  const nearest = ways.slice(0, 4);
  return isDeviceFixed && refusal.code === "no_capacity" ? [...nearest, { kind: "any_device" }] : nearest;
}

/** The choice with a way taken. A length stays a length; a fixed end moves with the start. */
export function takeWay(search: ReserveSearch, way: Way, resize: (size: Size) => ReserveSearch): ReserveSearch {
  if (way.kind === "any_device") return { ...search, device: undefined };
  if (way.kind === "smaller") return resize(way.size);
  const sized = way.size ? resize(way.size) : search;
  const moved = { ...sized, starts_at: way.starts_at };
  return endOf(search).kind === "until" ? { ...moved, ends_at: way.ends_at ?? search.ends_at } : moved;
}
