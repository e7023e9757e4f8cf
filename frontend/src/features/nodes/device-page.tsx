import { Link, useParams } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { DeviceCalendar } from "@/features/nodes/device-calendar";
import { HealthPanel } from "@/features/nodes/health-panel";
import { ReadingsPanel } from "@/features/nodes/readings-panel";
import { ActionLines } from "@/components/action-lines";
import { Facts } from "@/components/facts";
import { Id } from "@/components/id";
import { IsolationBadge } from "@/components/isolation-badge";
import { Page } from "@/components/page";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SimulatedBadge } from "@/components/simulated-badge";
import { SkeletonRows } from "@/components/skeleton-rows";
import { StateBadge } from "@/components/state-badge";
import { useMe } from "@/hooks/use-me";
import { api, dataOf, type Schema } from "@/lib/api";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import { keys } from "@/lib/query-keys";
import { formatMemory, formatNumber, formatShare } from "@/lib/units";
import classes from "@/features/nodes/nodes.module.css";

const AGAIN_MS = 5_000;

function About({ device }: { device: Schema<"Device"> }) {
  const t = useT();
  const { is_operator } = useMe();
  const state = !device.online ? "offline" : device.cordoned ? "cordoned" : "online";
  return (
    <Panel title={t("nodes.about")}>
      <Facts
        rows={[
          [t("nodes.state"), <StateBadge key="state" state={state} />],
          [t("nodes.rack"), device.rack || t("nodes.no_rack")],
          [
            t("nodes.node"),
            is_operator ? (
              <Link key="node" to="/nodes/$id" params={{ id: device.node }} className={classes.link}>
                {device.node_hostname}
              </Link>
            ) : (
              device.node_hostname
            ),
          ],
          [t("nodes.vendor"), device.vendor],
          [t("nodes.memory_physical"), formatMemory(device.memory_mib)],
          [t("nodes.memory_sold"), formatMemory(device.capacity_mib)],
          [t("nodes.compute_sold"), formatShare(device.capacity_permille)],
          [t("nodes.units"), formatNumber(device.compute_units)],
          [t("nodes.isolation"), <IsolationBadge key="isolation" mode={device.isolation} detail={device.isolation_detail} simulated={device.simulated} />],
          [t("nodes.id"), <Id key="id" value={device.id} />],
        ]}
      />
    </Panel>
  );
}

/** One device: what it is, how it is, and who has which part of it when. */
export function DevicePage() {
  const t = useT();
  const { id = "" } = useParams({ strict: false });
  const device = useQuery({
    queryKey: keys.device(id),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/devices/{device}", { params: { path: { device: id } }, signal })),
    refetchInterval: AGAIN_MS,
  });
  return (
    <Page title={device.data?.model ?? t("nodes.device")} aside={device.data?.simulated && <SimulatedBadge />}>
      {device.error && <ProblemAlert problem={device.error} retry={() => void device.refetch()} />}
      {device.isPending && <SkeletonRows rows={8} />}
      {device.data && (
        <>
          <div className={classes.columns}>
            <About device={device.data} />
            <ReadingsPanel device={device.data} />
            <HealthPanel device={device.data} />
          </div>
          <DeviceCalendar device={device.data} />
          <ActionLines vxpu={`vxpu device show ${id}`} curl={curlLine({ method: "GET", path: `/api/v1/devices/${id}` })} />
        </>
      )}
    </Page>
  );
}
