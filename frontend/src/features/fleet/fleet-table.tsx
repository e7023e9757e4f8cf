import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { allocatedPermille, freeMib, type Device } from "@/features/fleet/model";
import { DataTable, type Column } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Id } from "@/components/id";
import { SimulatedBadge } from "@/components/simulated-badge";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import { useT, type Translate } from "@/lib/i18n";
import { formatMemory, formatNumber, formatShare } from "@/lib/units";
import classes from "@/features/fleet/fleet.module.css";

export function stateOf(device: Device): string {
  if (device.stale) return device.node.online ? "stale" : "offline";
  if (device.node.drain === "draining" || device.node.drain === "drained") return device.node.drain;
  return device.node.cordoned ? "cordoned" : "online";
}

function columnsOf(t: Translate): Column<Device>[] {
  return [
    {
      id: "model",
      head: t("fleet.model"),
      value: (row) => row.model,
      fixed: true,
      cell: (row) => (
        <span className={classes.name}>
          <Link to="/devices/$id" params={{ id: row.id }} className={classes.link}>
            {row.model}
          </Link>
          {row.simulated && <SimulatedBadge />}
        </span>
      ),
    },
    { id: "rack", head: t("fleet.rack"), value: (row) => row.node.rack, cell: (row) => row.node.rack || t("fleet.no_rack") },
    { id: "node", head: t("fleet.node"), value: (row) => row.node.hostname, cell: (row) => <span className={classes.whole}>{row.node.hostname}</span> },
    { id: "state", head: t("fleet.state"), value: (row) => stateOf(row), cell: (row) => <StateBadge state={stateOf(row)} /> },
    { id: "health", head: t("fleet.metric.health"), value: (row) => row.health, end: true, cell: (row) => formatNumber(row.health) },
    { id: "use", head: t("fleet.metric.use"), value: (row) => row.use_permille, end: true, cell: (row) => <span className={classes.whole}>{formatShare(row.use_permille)}</span> },
    {
      id: "allocated",
      head: t("fleet.metric.allocated"),
      value: (row) => allocatedPermille(row.slices, row.capacity_mib),
      end: true,
      cell: (row) => <span className={classes.whole}>{formatShare(allocatedPermille(row.slices, row.capacity_mib))}</span>,
    },
    { id: "free", head: t("fleet.free_memory"), value: freeMib, end: true, cell: (row) => <span className={classes.whole}>{formatMemory(freeMib(row))}</span> },
    { id: "slices", head: t("fleet.slices_head"), value: (row) => row.slices.length, end: true, cell: (row) => row.slices.length },
    { id: "temperature", head: t("fleet.temperature_head"), value: (row) => row.temperature_c, end: true, cell: (row) => formatNumber(row.temperature_c) },
    { id: "power", head: t("fleet.power_head"), value: (row) => row.power_w, end: true, cell: (row) => formatNumber(row.power_w) },
    { id: "read", head: t("fleet.read_head"), value: (row) => row.read_at, end: true, hidden: true, cell: (row) => <When at={row.read_at} /> },
    { id: "id", head: t("fleet.id"), value: (row) => row.id, hidden: true, cell: (row) => <Id value={row.id} /> },
  ];
}

/** The map as rows: everything that it shows, for readers, for sorting and for sending to a colleague. */
export function FleetTable({ devices }: { devices: Device[] }) {
  const t = useT();
  const navigate = useNavigate();
  const columns = useMemo(() => columnsOf(t), [t]);
  return (
    <DataTable
      name="fleet"
      label={t("fleet.table_label")}
      columns={columns}
      rows={devices}
      rowId={(row) => row.id}
      onOpen={(row) => void navigate({ to: "/devices/$id", params: { id: row.id } })}
      empty={<EmptyState title={t("fleet.empty_title")} text={t("fleet.empty_text")} />}
    />
  );
}
