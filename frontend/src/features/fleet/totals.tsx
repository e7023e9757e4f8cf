import { totalsOf, type Device, type Fleet } from "@/features/fleet/model";
import { SimulatedBadge } from "@/components/simulated-badge";
import { useT } from "@/lib/i18n";
import { formatShare } from "@/lib/units";
import classes from "@/features/fleet/fleet.module.css";

/** The fleet in one line of figures, all of one snapshot. */
export function FleetTotals({ fleet, devices }: { fleet: Fleet; devices: readonly Device[] }) {
  const t = useT();
  const totals = totalsOf(devices);
  const figures: [string, string][] = [
    [t("fleet.total_devices"), totals.devices.toLocaleString("en-GB")],
    [t("fleet.total_nodes"), fleet.nodes.length.toLocaleString("en-GB")],
    [t("fleet.total_racks"), fleet.racks.length.toLocaleString("en-GB")],
    [t("fleet.metric.allocated"), formatShare(totals.allocated)],
    [t("fleet.metric.use"), formatShare(totals.use)],
    [t("fleet.total_stale"), String(totals.stale)],
    [t("fleet.total_unwell"), String(totals.unwell)],
    [t("fleet.total_closed"), String(totals.closed)],
  ];
  return (
    <div className={classes.totals}>
      <dl>
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {totals.simulated > 0 && (
        <span className={classes.simulated}>
          <SimulatedBadge />
          {t("fleet.simulated_of", { n: totals.simulated, all: totals.devices.toLocaleString("en-GB") })}
        </span>
      )}
    </div>
  );
}
