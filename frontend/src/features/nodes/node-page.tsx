import { useParams } from "@tanstack/react-router";
import { NodeActions } from "@/features/nodes/node-actions";
import { NodeDevices } from "@/features/nodes/node-devices";
import { NodeHistory } from "@/features/nodes/node-history";
import { RackField } from "@/features/nodes/rack-field";
import { stateOf } from "@/features/nodes/node-state";
import { useNodeNews } from "@/features/nodes/use-news";
import { ActionLines } from "@/components/action-lines";
import { Facts } from "@/components/facts";
import { Hint } from "@/components/hint";
import { Id } from "@/components/id";
import { ImpactList } from "@/components/impact-list";
import { LiveDot } from "@/components/live-dot";
import { Page } from "@/components/page";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import { impactQuery, useNode, type Node } from "@/hooks/use-nodes";
import { useQuery } from "@tanstack/react-query";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import { formatNumber } from "@/lib/units";
import classes from "@/features/nodes/nodes.module.css";

/** More than this and times on the node and here tell different stories. */
const WRONG_CLOCK_MS = 2_000;

function Clock({ offset }: { offset: number | null }) {
  const t = useT();
  if (offset === null) return <Hint text={t("common.unknown_why")}>{t("common.unknown")}</Hint>;
  const text = `${offset > 0 ? "+" : ""}${formatNumber(offset)} ms`;
  return Math.abs(offset) > WRONG_CLOCK_MS ? <Hint text={t("nodes.clock_wrong")}>{text} ⚠</Hint> : <span>{text}</span>;
}

function NodeFacts({ node }: { node: Node }) {
  const t = useT();
  const { drain } = node;
  const rows: [string, React.ReactNode][] = [
    [t("nodes.state"), <StateBadge key="state" state={stateOf(node)} />],
    [t("nodes.rack"), <RackField key={node.rack} node={node} />],
    ...(node.pool ? [[t("nodes.pool"), node.pool] as [string, React.ReactNode]] : []),
    ...(node.site ? [[t("nodes.site"), node.site] as [string, React.ReactNode]] : []),
    [t("nodes.last_seen"), <When key="seen" at={node.last_seen_at} none={t("nodes.never")} />],
    [t("nodes.version"), node.agent_version],
    [t("nodes.clock"), <Clock key="clock" offset={node.clock_offset_ms} />],
    [t("nodes.enrolled"), <When key="created" at={node.created_at} />],
    [t("nodes.id"), <Id key="id" value={node.id} />],
  ];
  if (drain.state !== "none") {
    rows.push(
      [t("nodes.drain_reason"), <span key="reason" dir="auto">{drain.reason}</span>],
      [t("nodes.drain_by"), <span key="by" dir="auto">{drain.started_by}</span>],
      [t(drain.state === "planned" ? "nodes.drain_from" : "nodes.drain_since"), <When key="from" at={drain.started_at} />],
    );
    if (drain.drained_at) rows.push([t("nodes.drained_at"), <When key="drained" at={drain.drained_at} />]);
  }
  return <Facts rows={rows} />;
}

function Affected({ id }: { id: string }) {
  const t = useT();
  const impact = useQuery({ ...impactQuery(id), refetchInterval: 15_000 });
  return (
    <Panel title={t("nodes.on_node")}>
      {impact.error && <ProblemAlert problem={impact.error} retry={() => void impact.refetch()} />}
      {impact.isPending && <SkeletonRows rows={3} />}
      {impact.data && <ImpactList impacts={[impact.data]} />}
    </Panel>
  );
}

/** One machine: what it has, what runs on it, and taking it out of service. */
export function NodePage() {
  const t = useT();
  const { id = "" } = useParams({ strict: false });
  const node = useNode(id);
  const status = useNodeNews(id);
  return (
    <Page title={node.data?.hostname ?? t("nodes.node")} aside={status !== "live" && <LiveDot status={status} />} primary={node.data && <NodeActions node={node.data} />}>
      {node.error && <ProblemAlert problem={node.error} retry={() => void node.refetch()} />}
      {node.isPending && <SkeletonRows rows={8} />}
      {node.data && (
        <>
          <div className={classes.columns}>
            <Panel title={t("nodes.about")}>
              <NodeFacts node={node.data} />
            </Panel>
            <Affected id={id} />
          </div>
          <NodeDevices node={node.data} />
          <NodeHistory id={id} />
          <ActionLines curl={curlLine({ method: "GET", path: `/api/v1/nodes/${id}` })} />
        </>
      )}
    </Page>
  );
}
