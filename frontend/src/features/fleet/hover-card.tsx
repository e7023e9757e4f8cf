import { allocatedPermille, freeMib, sliceUse, type Device } from "@/features/fleet/model";
import { written } from "@/features/fleet/paint";
import { Icon } from "@/components/icon";
import { SimulatedBadge } from "@/components/simulated-badge";
import { StateBadge } from "@/components/state-badge";
import { useNow } from "@/hooks/use-now";
import { useT } from "@/lib/i18n";
import { formatRelative } from "@/lib/time-format";
import { formatMemory, formatShare } from "@/lib/units";
import classes from "@/features/fleet/fleet.module.css";

type HoverCardProps = { device: Device; at: { x: number; y: number }; frame: { w: number; h: number } };

const MOST_SLICES = 8;
const WIDTH = 280;

/** What is known of the device under the pointer or the cursor. */
export function HoverCard({ device, at, frame }: HoverCardProps) {
  const t = useT();
  const now = useNow(5_000);
  const { node, slices } = device;
  const left = Math.min(Math.max(8, at.x + 16), Math.max(8, frame.w - WIDTH - 8));
  const isLow = at.y > frame.h / 2;
  const rows: [string, string][] = [
    [t("fleet.metric.use"), device.use_permille === null ? t("common.unknown") : formatShare(device.use_permille)],
    [t("fleet.metric.allocated"), formatShare(allocatedPermille(slices, device.capacity_mib))],
    [t("fleet.free_memory"), `${formatMemory(freeMib(device))} / ${formatMemory(device.capacity_mib)}`],
    [t("fleet.metric.temperature"), written(device.temperature_c, "temperature")],
    [t("fleet.metric.power"), written(device.power_w, "power")],
    [t("fleet.metric.health"), written(device.health, "health")],
  ];
  return (
    <div
      className={classes.card}
      style={{ left, width: WIDTH, ...(isLow ? { bottom: frame.h - at.y + 16 } : { top: at.y + 16 }) }}
    >
      <div className={classes.cardTitle}>
        <strong>{device.model}</strong>
        {device.simulated && <SimulatedBadge />}
      </div>
      <div className={classes.quiet}>
        {node.rack || t("fleet.no_rack")} · {node.hostname}
      </div>
      {(device.stale || node.cordoned) && (
        <div className={classes.badges}>
          {device.stale && <StateBadge state={node.online ? "stale" : "offline"} />}
          {node.cordoned && <StateBadge state={node.drain === "none" ? "cordoned" : node.drain} />}
        </div>
      )}
      <dl className={classes.cardFacts}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {slices.length === 0 ? (
        <div className={classes.quiet}>{t("fleet.no_slices")}</div>
      ) : (
        <ul className={classes.cardSlices}>
          {slices.slice(0, MOST_SLICES).map((slice, index) => {
            const use = sliceUse(slice);
            return (
              <li key={index}>
                <span>
                  {slice.mine && <Icon name="user" size={12} />} {formatMemory(slice.memory_mib)} · {formatShare(slice.share_permille)}
                </span>
                <span>{use === null ? t("fleet.use_unknown") : t("fleet.uses", { share: `${Math.round(use * 100)} %` })}</span>
              </li>
            );
          })}
          {slices.length > MOST_SLICES && <li>{t("fleet.more_slices", { n: slices.length - MOST_SLICES })}</li>}
        </ul>
      )}
      <div className={classes.quiet}>
        {device.read_at ? t("fleet.read", { when: formatRelative(device.read_at, now) }) : t("fleet.never_read")}
      </div>
    </div>
  );
}
