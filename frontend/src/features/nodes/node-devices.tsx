import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { Reading } from "@/components/reading";
import { SimulatedBadge } from "@/components/simulated-badge";
import { SkeletonRows } from "@/components/skeleton-rows";
import type { Node } from "@/hooks/use-nodes";
import { api, dataOf, type Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { keys } from "@/lib/query-keys";
import { formatMemory, formatNumber, formatShare } from "@/lib/units";
import { toReading } from "@/features/nodes/readings";
import classes from "@/features/nodes/nodes.module.css";

/** The devices of one node, by their ids in the fleet: the list of all is not read for eight. */
function useDevicesOf(node: Node) {
  return useQuery({
    queryKey: [...keys.devices, "of", node.id],
    queryFn: async ({ signal }): Promise<Schema<"Device">[]> => {
      const fleet = await dataOf(api.GET("/api/v1/fleet", { signal }));
      const place = fleet.nodes.findIndex((one) => one.id === node.id);
      const ids = fleet.devices.id.filter((_, index) => fleet.devices.node[index] === place);
      return Promise.all(
        ids.map((device) => dataOf(api.GET("/api/v1/devices/{device}", { params: { path: { device } }, signal }))),
      );
    },
    refetchInterval: 10_000,
  });
}

export function NodeDevices({ node }: { node: Node }) {
  const t = useT();
  const devices = useDevicesOf(node);
  return (
    <Panel title={t("nodes.devices")}>
      {devices.error && <ProblemAlert problem={devices.error} retry={() => void devices.refetch()} />}
      {devices.isPending && <SkeletonRows rows={4} />}
      {devices.data?.length === 0 && <p className={classes.quiet}>{t("nodes.no_devices")}</p>}
      {devices.data && devices.data.length > 0 && (
        <div className={classes.scroll} role="region" aria-label={t("nodes.devices")} tabIndex={0}>
          <table className={classes.table}>
            <thead>
              <tr>
                <th>{t("nodes.device")}</th>
                <th className={classes.end}>{t("nodes.memory")}</th>
                <th className={classes.end}>{t("nodes.use")}</th>
                <th className={classes.end}>{t("nodes.used_memory")}</th>
                <th className={classes.end}>{t("nodes.temperature")}</th>
                <th className={classes.end}>{t("nodes.power")}</th>
                <th className={classes.end}>{t("nodes.health")}</th>
              </tr>
            </thead>
            <tbody>
              {devices.data.map((device) => (
                <tr key={device.id}>
                  <td>
                    <span className={classes.inline}>
                      <Link to="/devices/$id" params={{ id: device.id }} className={classes.link}>
                        {device.model}
                      </Link>
                      {device.simulated && <SimulatedBadge />}
                    </span>
                  </td>
                  <td className={classes.end}>{formatMemory(device.capacity_mib)}</td>
                  <td className={classes.end}>
                    <Reading reading={toReading(device, "utilization_permille")} format={formatShare} />
                  </td>
                  <td className={classes.end}>
                    <Reading reading={toReading(device, "memory_used_mib")} format={formatMemory} />
                  </td>
                  <td className={classes.end}>
                    <Reading reading={toReading(device, "temperature_c")} unit="°C" />
                  </td>
                  <td className={classes.end}>
                    <Reading reading={toReading(device, "power_mw")} format={(mw) => `${formatNumber(mw / 1000)} W`} />
                  </td>
                  <td className={classes.end}>{formatNumber(device.health.score)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
