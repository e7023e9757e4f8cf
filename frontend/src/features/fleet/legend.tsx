import { useComputedColorScheme } from "@mantine/core";
import { rampOf } from "@/features/fleet/colours";
import type { Metric, Range } from "@/features/fleet/model";
import { useT } from "@/lib/i18n";
import classes from "@/features/fleet/fleet.module.css";

const UNITS: Record<Metric, string> = { use: "%", allocated: "%", temperature: "°C", power: "W", health: "" };

/** What widths, bars, tints, borders and dots mean. */
export function Legend({ metric, range }: { metric: Metric; range: Range }) {
  const t = useT();
  const ramp = rampOf(metric, useComputedColorScheme("light"));
  const unit = UNITS[metric];
  return (
    <div className={classes.legend}>
      {metric === "allocated" ? (
        <span className={classes.legendItem}>
          <i className={classes.swatch} style={{ background: ramp[3] }} /> {t("fleet.legend_taken")}
        </span>
      ) : (
        <span className={classes.legendItem}>
          {t(`fleet.metric.${metric}`)} {range.low}
          <span className={classes.ramp}>
            {ramp.map((colour) => (
              <i key={colour} style={{ background: colour }} />
            ))}
          </span>
          {range.high} {unit}
        </span>
      )}
      <span className={classes.legendItem}>
        <i className={classes.keyWidth} /> {t("fleet.legend_width")}
      </span>
      <span className={classes.legendItem}>
        <i className={classes.keyBar} /> {t("fleet.legend_bar")}
      </span>
      <span className={classes.legendItem}>
        <i className={classes.keyFree} /> {t("fleet.legend_free")}
      </span>
      <span className={classes.legendItem}>
        <i className={classes.keyPoor} /> {t("fleet.legend_poor")}
      </span>
      <span className={classes.legendItem}>
        <i className={classes.keyIll} /> {t("fleet.legend_ill")}
      </span>
      <span className={classes.legendItem}>
        <i className={classes.keyDot} /> {t("fleet.legend_stale")}
      </span>
      <span className={classes.legendItem}>
        <i className={classes.keyHatch} /> {t("fleet.legend_closed")}
      </span>
      <span className={classes.legendItem}>
        <i className={classes.keyMine} /> {t("fleet.legend_mine")}
      </span>
    </div>
  );
}
