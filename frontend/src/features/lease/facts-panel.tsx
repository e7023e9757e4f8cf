import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Facts } from "@/components/facts";
import { Id } from "@/components/id";
import { IsolationBadge } from "@/components/isolation-badge";
import { Panel } from "@/components/panel";
import { useMe } from "@/hooks/use-me";
import { useZone } from "@/hooks/use-zone";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { phaseOf, type Reservation } from "@/lib/reservation";
import { formatInstant } from "@/lib/time-format";
import { formatMemory, formatShare } from "@/lib/units";

type FactsPanelProps = { reservation: Reservation; device: Schema<"Device"> | undefined };

function periodText(reservation: Reservation, zone: string, open: string): string {
  const starts = formatInstant(reservation.starts_at, zone);
  return `${starts} – ${reservation.ends_at ? formatInstant(reservation.ends_at, zone) : open}`;
}

/** What it is, where it lies, what is enforced. */
export function FactsPanel({ reservation, device }: FactsPanelProps) {
  const t = useT();
  const { zone } = useZone();
  const me = useMe();
  const placed = reservation.device;
  const project = me.projects.find((one) => one.id === reservation.project);
  const mode = reservation.isolation;
  return (
    <Panel title={t("lease.facts")}>
      <Facts
        rows={[
          [t("lease.size"), `${formatMemory(reservation.slice.memory_mib)}, ${t("lease.size_of_device", { share: formatShare(reservation.slice.share_permille) })}`],
          [
            t("lease.device"),
            placed ? (
              <Anchor key="device" renderRoot={(props) => <Link to="/devices/$id" params={{ id: placed.id }} {...props} />}>
                {placed.model}
              </Anchor>
            ) : (
              t("lease.no_device")
            ),
          ],
          ...(device?.node_hostname ? [[t("lease.node"), device.node_hostname] as const] : []),
          ...(mode
            ? [
                [
                  t("lease.isolation"),
                  <IsolationBadge key="isolation" mode={mode} detail={device?.isolation_detail} simulated={placed?.simulated ?? false} explained />,
                ] as const,
              ]
            : []),
          [t(phaseOf(reservation) === "waiting" ? "lease.wanted" : "lease.period"), periodText(reservation, zone, t("common.open_end"))],
          ...(project ? [[t("lease.project"), project.name] as const] : []),
          [t("lease.reservation"), <Id key="reservation" value={reservation.id} />],
          ...(reservation.lease ? [[t("lease.lease_id"), <Id key="lease" value={reservation.lease.id} />] as const] : []),
        ]}
      />
    </Panel>
  );
}
