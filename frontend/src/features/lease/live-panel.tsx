import { LiveMetric } from "@/features/lease/live-metric";
import { SILENT_S, VIEWS } from "@/features/lease/metric-view";
import { useLeaseMetrics, type LeaseMetrics } from "@/features/lease/use-lease-metrics";
import { Icon } from "@/components/icon";
import { LiveDot } from "@/components/live-dot";
import { Panel } from "@/components/panel";
import { useNow } from "@/hooks/use-now";
import type { Schema } from "@/lib/api";
import { useT, type Translate } from "@/lib/i18n";
import { phaseOf, type Reservation } from "@/lib/reservation";
import { formatDuration } from "@/lib/units";
import classes from "@/features/lease/live-panel.module.css";

type LivePanelProps = { reservation: Reservation; windows: readonly Schema<"Window">[] };

/** What stands between the viewer and fresh values; null when they flow. */
function troubleOf(metrics: LeaseMetrics, silent_s: number, t: Translate): string | null {
  if (metrics.refusal) return t("lease.live_off", { why: metrics.refusal.detail });
  if (metrics.status !== "live") return t("lease.live_reconnecting");
  if (!metrics.sample) return t("lease.live_waiting");
  return silent_s > SILENT_S ? t("lease.live_silent", { time: formatDuration(silent_s) }) : null;
}

function Keys({ processes }: { processes: number | null }) {
  const t = useT();
  return (
    <div className={classes.keys}>
      <span className={classes.key}>
        <span className={classes.stroke} /> {t("lease.live_measured")}
      </span>
      <span className={classes.key}>
        <span className={`${classes.stroke} ${classes.strokeMetered}`} /> {t("lease.live_metered")}
      </span>
      <span className={classes.key}>
        <span className={`${classes.stroke} ${classes.strokeLimit}`} /> {t("reading.limit")}
      </span>
      <span>{t("lease.live_gap")}</span>
      {processes !== null && <span>{t("lease.live_processes", { n: processes })}</span>}
    </div>
  );
}

/** Memory, compute, throttle and power at 2 Hz against their limits. */
export function LivePanel({ reservation, windows }: LivePanelProps) {
  const t = useT();
  const now = useNow(1_000);
  const lease = reservation.lease;
  const isRunning = phaseOf(reservation) === "running" && lease !== null;
  const metrics = useLeaseMetrics(isRunning ? lease.id : null);
  const silent_s = metrics.sample ? (now - Date.parse(metrics.sample.at)) / 1000 : 0;
  const trouble = isRunning ? troubleOf(metrics, silent_s, t) : null;
  const isOld = metrics.stale || silent_s > SILENT_S;
  const isEnded = phaseOf(reservation) === "ended";
  // What has ended is shown up to its end, not up to now.
  const edge = isEnded && lease?.ended_at ? Date.parse(lease.ended_at) : now;
  return (
    <Panel title={t("lease.live")} aside={isRunning ? <LiveDot status={metrics.status} /> : undefined}>
      {trouble && (
        <p className={classes.note} role="status">
          <Icon name={metrics.status === "live" ? "clock" : "busy"} />
          {trouble}
        </p>
      )}
      {!isRunning && <p className={classes.note}>{isEnded ? t("lease.live_ended") : t("lease.live_not_running")}</p>}
      <div className={classes.grid}>
        {VIEWS.map((view) => (
          <LiveMetric
            key={view.metric}
            view={view}
            slice={reservation.slice}
            sample={metrics.sample}
            points={metrics.series[view.metric]}
            windows={windows}
            now={edge}
            isOld={isOld}
          />
        ))}
      </div>
      <Keys processes={metrics.sample?.processes ?? null} />
    </Panel>
  );
}
