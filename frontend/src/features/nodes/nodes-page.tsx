import { Button } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { EnrolDialog } from "@/features/nodes/enrol-dialog";
import { stateOf } from "@/features/nodes/node-state";
import { useNodesNews } from "@/features/nodes/use-news";
import { ActionLines } from "@/components/action-lines";
import { DataTable, type Column } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Icon } from "@/components/icon";
import { Id } from "@/components/id";
import { LiveDot } from "@/components/live-dot";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import { useMe } from "@/hooks/use-me";
import { useNodes, type Node } from "@/hooks/use-nodes";
import { curlLine } from "@/lib/curl";
import { useT, type Translate } from "@/lib/i18n";
import { formatNumber } from "@/lib/units";
import classes from "@/features/nodes/nodes.module.css";

function columnsOf(t: Translate): Column<Node>[] {
  return [
    {
      id: "hostname",
      head: t("nodes.node"),
      value: (row) => row.hostname,
      fixed: true,
      cell: (row) => (
        <Link to="/nodes/$id" params={{ id: row.id }} className={classes.link}>
          {row.hostname}
        </Link>
      ),
    },
    { id: "rack", head: t("nodes.rack"), value: (row) => row.rack, cell: (row) => row.rack || t("nodes.no_rack") },
    { id: "state", head: t("nodes.state"), value: (row) => stateOf(row), cell: (row) => <StateBadge state={stateOf(row)} /> },
    { id: "devices", head: t("nodes.devices"), value: (row) => row.device_count, end: true, cell: (row) => formatNumber(row.device_count) },
    { id: "leases", head: t("nodes.lease_count"), value: (row) => row.lease_count, end: true, cell: (row) => formatNumber(row.lease_count) },
    { id: "seen", head: t("nodes.last_seen"), value: (row) => row.last_seen_at, end: true, cell: (row) => <When at={row.last_seen_at} none={t("nodes.never")} /> },
    { id: "clock", head: t("nodes.clock_head"), value: (row) => row.clock_offset_ms, end: true, cell: (row) => formatNumber(row.clock_offset_ms) },
    { id: "version", head: t("nodes.version"), value: (row) => row.agent_version, cell: (row) => row.agent_version },
    { id: "created", head: t("nodes.enrolled"), value: (row) => row.created_at, end: true, hidden: true, cell: (row) => <When at={row.created_at} /> },
    { id: "id", head: t("nodes.id"), value: (row) => row.id, hidden: true, cell: (row) => <Id value={row.id} /> },
  ];
}

/** The machines of the fleet, and the way to add one. */
export function NodesPage() {
  const t = useT();
  const { is_operator } = useMe();
  return is_operator ? <Machines /> : <Page title={t("nodes.title")}><EmptyState title={t("nodes.operators_only")} text={t("nodes.operators_only_text")} action={<Link to="/fleet" className={classes.link}>{t("fleet.title")}</Link>} /></Page>;
}

function Machines() {
  const t = useT();
  const navigate = useNavigate();
  const nodes = useNodes();
  const status = useNodesNews();
  const [isAdding, setAdding] = useState(false);
  const columns = useMemo(() => columnsOf(t), [t]);
  const add = (
    <Button leftSection={<Icon name="plus" />} onClick={() => setAdding(true)}>
      {t("nodes.add")}
    </Button>
  );
  return (
    <Page title={t("nodes.title")} aside={status !== "live" && <LiveDot status={status} />} primary={add}>
      {nodes.error && <ProblemAlert problem={nodes.error} retry={() => void nodes.refetch()} />}
      {nodes.isPending && <SkeletonRows rows={8} />}
      {nodes.data && (
        <DataTable
          name="nodes"
          label={t("nodes.list")}
          columns={columns}
          rows={nodes.data}
          rowId={(row) => row.id}
          sort="hostname"
          onOpen={(row) => void navigate({ to: "/nodes/$id", params: { id: row.id } })}
          empty={<EmptyState title={t("nodes.empty_title")} text={t("nodes.empty_text")} action={add} />}
        />
      )}
      <ActionLines vxpu="vxpu node list" curl={curlLine({ method: "GET", path: "/api/v1/nodes?limit=200" })} />
      {isAdding && <EnrolDialog onClose={() => setAdding(false)} />}
    </Page>
  );
}
