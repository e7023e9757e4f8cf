import { Panel } from "@/components/panel";
import { StateBadge } from "@/components/state-badge";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { formatNumber } from "@/lib/units";
import { READINGS } from "@/features/nodes/readings";
import classes from "@/features/nodes/nodes.module.css";

/** The score and what it came from. The worst metric decides. */
export function HealthPanel({ device }: { device: Schema<"Device"> }) {
  const t = useT();
  const { score, metrics } = device.health;
  const names = Object.keys(metrics).sort();
  return (
    <Panel title={t("nodes.health")}>
      <div className={classes.score}>
        <strong>{formatNumber(score)}</strong>
        {score !== null && <span className={classes.quiet}>{t("nodes.of_100")}</span>}
        {score !== null && score < 50 && <StateBadge state="unwell" />}
      </div>
      {score === null && <p className={classes.quiet}>{t("nodes.health_unknown")}</p>}
      <ul className={classes.health}>
        {names.map((name) => {
          const metric = metrics[name];
          const known = READINGS[name];
          const label = known ? t(known.label) : name;
          const value = metric?.value ?? null;
          return (
            <li key={name}>
              <span>{label}</span>
              <span className={classes.healthTrack} aria-hidden="true">
                <i style={{ width: `${metric?.score ?? 0}%` }} className={(metric?.score ?? 100) < 50 ? classes.ill : undefined} />
              </span>
              <span className={classes.end}>{formatNumber(metric?.score)}</span>
              <span className={classes.quiet}>{value === null ? t("common.unknown") : known ? known.format(value) : formatNumber(value)}</span>
            </li>
          );
        })}
      </ul>
      {names.length > 0 && <p className={classes.quiet}>{t("nodes.health_how")}</p>}
    </Panel>
  );
}
