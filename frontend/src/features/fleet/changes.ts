/** What of the map must be drawn again. */
import { metricOf, type Fleet } from "@/features/fleet/model";
import type { Scene } from "@/features/fleet/paint";

/** Which devices look other than before; null when everything must be drawn. */
export function changedCells(before: Scene | null, after: Scene): number[] | null {
  if (
    !before ||
    before.layout !== after.layout ||
    before.metric !== after.metric ||
    before.palette !== after.palette ||
    before.faded !== after.faded ||
    before.range.high !== after.range.high ||
    !sameNodes(before.fleet, after.fleet)
  ) {
    return null;
  }
  const changed: number[] = [];
  for (let index = 0; index < after.fleet.devices.id.length; index += 1) {
    if (looksOther(before, after, index)) changed.push(index);
  }
  return changed;
}

function sameNodes(before: Fleet, after: Fleet): boolean {
  return (
    before.nodes === after.nodes ||
    (before.nodes.length === after.nodes.length &&
      before.nodes.every((node, index) => {
        const now = after.nodes[index];
        return now !== undefined && node.id === now.id && node.cordoned === now.cordoned && node.hostname === now.hostname;
      }))
  );
}

function looksOther(before: Scene, after: Scene, index: number): boolean {
  if (before.stale[index] !== after.stale[index]) return true;
  if (before.fleet.devices.health[index] !== after.fleet.devices.health[index]) return true;
  if (metricOf(before.fleet, index, before.metric) !== metricOf(after.fleet, index, after.metric)) return true;
  const [old, now] = [before.fleet.devices.slices[index] ?? [], after.fleet.devices.slices[index] ?? []];
  if (old === now) return false;
  return (
    old.length !== now.length ||
    old.some((slice, place) => {
      const other = now[place];
      return !other || slice.memory_mib !== other.memory_mib || slice.share_permille !== other.share_permille || slice.use_permille !== other.use_permille;
    })
  );
}
