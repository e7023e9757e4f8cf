/** Why a slice's programs may be slower than hoped, read from metered windows. Pure. */
import type { Schema } from "@/lib/api";

type Window = Schema<"Window">;
type Slice = { memory_mib: number; share_permille: number };

export type Finding =
  | { kind: "throttled"; permille: number; share_permille: number }
  | { kind: "contended"; windows: number; of: number }
  | { kind: "memory_full"; peak_mib: number; memory_mib: number }
  | { kind: "unused"; used_permille: number; share_permille: number }
  | { kind: "not_ready"; windows: number; of: number }
  | { kind: "fine"; used_permille: number; share_permille: number }
  | { kind: "unknown" };

/** How far back to look. */
export const LOOK_BACK_S = 900;
const THROTTLED_FROM = 100;
const FULL_FROM = 0.95;
const UNUSED_BELOW = 0.5;

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

export function recentWindows(windows: readonly Window[], now: number): Window[] {
  const since = now - LOOK_BACK_S * 1000;
  return windows.filter((window) => Date.parse(window.window_start) >= since);
}

/** Share of the time, in permille, that the slice was held back at its compute share; null when nobody measured it. */
export function throttledPermille(windows: readonly Window[]): number | null {
  const known = windows.filter((window) => window.throttled_ms !== null);
  const seconds = sum(known.map((window) => window.window_s));
  if (seconds === 0) return null;
  const held = sum(known.map((window) => Math.min(window.throttled_ms ?? 0, window.window_s * 1000)));
  return Math.round(held / seconds);
}

/** Average compute in permille of the device; null where nobody could read it. */
export function usedPermille(windows: readonly Window[]): number | null {
  const read = windows.filter((window) => window.used_permille_s !== null);
  const seconds = sum(read.map((window) => window.window_s));
  return seconds === 0 ? null : Math.round(sum(read.map((window) => window.used_permille_s ?? 0)) / seconds);
}

/** The weightiest first; never empty. */
export function explain(windows: readonly Window[], slice: Slice): Finding[] {
  const used = usedPermille(windows);
  if (used === null) return [{ kind: "unknown" }];
  const findings: Finding[] = [];
  const closed = windows.filter((window) => window.state !== "ready").length;
  if (closed > 0) findings.push({ kind: "not_ready", windows: closed, of: windows.length });
  const throttled = throttledPermille(windows);
  const share = slice.share_permille;
  if (throttled !== null && throttled >= THROTTLED_FROM) {
    findings.push({ kind: "throttled", permille: throttled, share_permille: share });
  }
  const contended = windows.filter((window) => window.contended).length;
  if (contended > 0) findings.push({ kind: "contended", windows: contended, of: windows.length });
  const peak = Math.max(...windows.map((window) => window.peak_mib ?? 0));
  if (peak >= slice.memory_mib * FULL_FROM) {
    findings.push({ kind: "memory_full", peak_mib: peak, memory_mib: slice.memory_mib });
  }
  if (findings.length > 0) return findings;
  const kind = used < share * UNUSED_BELOW ? "unused" : "fine";
  return [{ kind, used_permille: used, share_permille: share }];
}

/** The next size up that makes sense for a finding; null when the device has no more. */
export function betterSize(finding: Finding, slice: Slice, capacity: Slice): Slice | null {
  if (finding.kind === "throttled") {
    const share_permille = Math.min(capacity.share_permille, Math.ceil((slice.share_permille * 1.5) / 25) * 25);
    return share_permille > slice.share_permille ? { ...slice, share_permille } : null;
  }
  if (finding.kind === "memory_full") {
    const memory_mib = Math.min(capacity.memory_mib, Math.ceil((slice.memory_mib * 1.5) / 64) * 64);
    return memory_mib > slice.memory_mib ? { ...slice, memory_mib } : null;
  }
  return null;
}
