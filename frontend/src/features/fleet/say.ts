/** The map in words, for those who do not see it. */
import { devicesOf, rangeOf, totalsOf, type Device, type Fleet, type Metric } from "@/features/fleet/model";
import type { Translate } from "@/lib/i18n";
import { formatShare } from "@/lib/units";

export function saySummary(fleet: Fleet, metric: Metric, now: number, t: Translate): string {
  const totals = totalsOf(devicesOf(fleet, now));
  const range = rangeOf(fleet, metric);
  return t("fleet.summary", {
    devices: t("fleet.devices", { n: totals.devices }),
    nodes: t("fleet.nodes", { n: fleet.nodes.length }),
    racks: t("fleet.racks", { n: fleet.racks.length }),
    allocated: formatShare(totals.allocated),
    use: formatShare(totals.use),
    stale: String(totals.stale),
    unwell: String(totals.unwell),
    metric: t(`fleet.metric.${metric}`),
    low: String(range.low),
    high: String(range.high),
  });
}

export function sayDevice(device: Device, figure: string, isChosen: boolean, t: Translate): string {
  const parts = [
    device.model,
    device.simulated ? t("common.simulated") : "",
    device.node.rack || t("fleet.no_rack"),
    device.node.hostname,
    figure,
    t("fleet.slices", { n: device.slices.length }),
    device.stale ? t("fleet.stale") : "",
    device.node.cordoned ? t("state.cordoned") : "",
    isChosen ? t("fleet.chosen") : "",
  ];
  return parts.filter(Boolean).join(", ");
}
