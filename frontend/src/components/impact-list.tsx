import { Text } from "@mantine/core";
import { Id } from "@/components/id";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import type { Impact } from "@/hooks/use-nodes";
import { useT } from "@/lib/i18n";
import { formatMemory, formatShare } from "@/lib/units";
import classes from "@/components/impact-list.module.css";

/** Who and what runs, or is booked, on nodes that are to go out of service. */
export function ImpactList({ impacts }: { impacts: readonly Impact[] }) {
  const t = useT();
  const running = impacts.flatMap((impact) => impact.leases);
  const booked = impacts.flatMap((impact) => impact.reservations_future);
  const rows = [...running, ...booked];
  const tenants = new Set(rows.map((row) => row.tenant)).size;
  if (rows.length === 0) return <Text>{t("nodes.impact_none")}</Text>;
  return (
    <div>
      <Text fw={600}>
        {t("nodes.impact", {
          running: t("nodes.leases", { n: running.length }),
          booked: t("nodes.bookings", { n: booked.length }),
          tenants: t("nodes.tenants", { n: tenants }),
        })}
      </Text>
      <div className={classes.scroll} role="region" aria-label={t("nodes.impact_label")} tabIndex={0}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th>{t("nodes.lease")}</th>
              <th>{t("nodes.tenant")}</th>
              <th>{t("nodes.state")}</th>
              <th className={classes.end}>{t("nodes.size")}</th>
              <th>{t("nodes.starts")}</th>
              <th>{t("nodes.ends")}</th>
              <th>{t("nodes.by_a_move")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.lease}>
                <td>
                  <Id value={row.lease} />
                </td>
                <td>
                  <Id value={row.tenant} />
                </td>
                <td>
                  <StateBadge state={row.state} />
                </td>
                <td className={classes.end}>
                  {formatMemory(row.slice.memory_mib)} · {formatShare(row.slice.share_permille)}
                </td>
                <td>
                  <When at={row.starts_at} />
                </td>
                <td>
                  <When at={row.ends_at} none={t("common.open_end")} />
                </td>
                <td>{t(`nodes.stays.${row.stays ?? "moves"}`)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
