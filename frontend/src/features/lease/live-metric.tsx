import { LiveChart } from "@/features/lease/live-chart";
import { columns, windowSteps, type Point } from "@/features/lease/live-series";
import type { LeaseSample } from "@/features/lease/lease-sample";
import { limitOf, topOf, trusted, type MetricView } from "@/features/lease/metric-view";
import { Reading } from "@/components/reading";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { formatRelative } from "@/lib/time-format";
import classes from "@/features/lease/live-panel.module.css";

type LiveMetricProps = {
  view: MetricView;
  slice: { memory_mib: number; share_permille: number };
  sample: LeaseSample | null;
  points: readonly Point[];
  windows: readonly Schema<"Window">[];
  /** Server time in ms. */
  now: number;
  /** Nothing new arrives at the moment. */
  isOld: boolean;
};

/** One metric: its value with age and quality, and its last minutes against the limit. */
export function LiveMetric({ view, slice, sample, points, windows, now, isOld }: LiveMetricProps) {
  const t = useT();
  const limit = limitOf(view.metric, slice, sample);
  const metered = windowSteps(windows, view.metric, points, now / 1000);
  const drawn = columns(points, metered);
  const reading = sample && trusted(sample, view.metric, isOld);
  const isKnown = reading !== null && reading.value !== null && reading.quality !== "unavailable";
  const value = isKnown && reading.value !== null ? view.write(reading.value) : t("common.unknown");
  const limitText = limit === null ? t("lease.live_no_limit") : view.write(limit);
  const name = t(view.name);
  // Neither a value nor a limit: there is nothing to draw.
  const isEmpty = limit === null && [...points, ...metered].every((point) => point.value === null);
  const unit = view.unit ? t(view.unit) : view.metric === "memory" ? "MiB" : "W";
  const age = isKnown
    ? t("reading.age", { quality: t(`reading.${reading.quality}`), age: reading.at ? formatRelative(reading.at, now) : t("common.unknown") })
    : view.metric === "power" && sample
      ? t("lease.live_no_power")
      : t("reading.unavailable");
  return (
    <div className={classes.metric}>
      <div className={classes.head}>
        <span className={classes.name}>{name}</span>
        <span className={`${classes.value} ${isOld ? classes.old : ""}`}>
          <Reading reading={reading} format={view.write} />
        </span>
        <span className={classes.limit}>
          {view.metric === "throttled" ? t("lease.live_time") : limit === null ? limitText : t("lease.live_limit", { limit: limitText })}
        </span>
      </div>
      <div className={classes.age}>{age}</div>
      {isEmpty ? (
        <p className={classes.nothing}>{t("lease.live_nothing")}</p>
      ) : (
      <LiveChart
        label={t("lease.live_chart", { metric: name, value, limit: limitText })}
        columns={drawn}
        limit={limit}
        top={topOf(limit, [...drawn[1], ...drawn[2]])}
        now={now / 1000}
        unit={unit}
        minutes={t("lease.live_minutes")}
        format={view.tick}
        color={view.color}
      />
      )}
    </div>
  );
}
