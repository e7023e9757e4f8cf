import { useElementSize } from "@mantine/hooks";
import { useState } from "react";
import { fillOf } from "@/features/cost/part-mark";
import { heightOf, PART_NAMES, PARTS, partOf, roundTop, stackOf, type Measure } from "@/features/cost/series";
import type { Costs } from "@/features/cost/use-costs";
import { useT } from "@/lib/i18n";
import { toLocalText } from "@/lib/time";
import { formatInstant } from "@/lib/time-format";
import { formatNumber } from "@/lib/units";
import classes from "@/features/cost/cost.module.css";

type DayChartProps = {
  /** By day. */
  costs: Costs;
  measure: Measure;
  /** The most that the quota lets be taken in a day, in device-hours. */
  limit: number | null;
  onDay: (day: string) => void;
};

const HEIGHT = 220;
const LEFT = 52;
const BOTTOM = 24;
const TOP = 12;

/** Told in UTC, so that a day keeps its name wherever the viewer is. */
const noonOf = (day: string) => new Date(`${day}T12:00:00Z`);

export function DayChart({ costs, measure, limit, onDay }: DayChartProps) {
  const t = useT();
  const { ref, width } = useElementSize();
  const [shown, setShown] = useState<number | null>(null);
  const days = costs.items;
  const heights = days.map((day) => heightOf(day, measure));
  const highest = Math.max(0, ...heights);
  const isLimitNear = limit !== null && measure === "hours" && limit <= highest * 2.5;
  const { top, step } = roundTop(isLimitNear ? Math.max(highest, limit) : highest);
  const slot = Math.max(0, width - LEFT) / Math.max(1, days.length);
  const y = (value: number) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const today = toLocalText(costs.as_of, costs.zone).slice(0, 10);
  const unit = measure === "money" ? costs.currency : t("cost.device_hours");
  const label = t("cost.chart_label", { from: days[0]?.key ?? "", to: days.at(-1)?.key ?? "", unit });
  const every = Math.ceil(days.length / Math.max(1, Math.floor((width - LEFT) / 56)));
  const read = shown === null ? null : days[shown];
  return (
    <div ref={ref} className={classes.chart}>
      <svg role="img" aria-label={label} width={width} height={HEIGHT} onPointerLeave={() => setShown(null)}>
        {Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step).map((value) => (
          <g key={value}>
            <line x1={LEFT} x2={width} y1={y(value)} y2={y(value)} stroke="var(--line)" />
            <text x={LEFT - 8} y={y(value) + 4} textAnchor="end" className={classes.tick}>
              {formatNumber(value, 4)}
            </text>
          </g>
        ))}
        {days.map((day, index) => {
          const isFuture = day.key > today;
          const x = LEFT + index * slot;
          return (
            // The same by keyboard: the table of days below opens a day by Enter.
            <g key={day.key} onPointerEnter={() => setShown(index)} onClick={() => onDay(day.key)} className={classes.day}>
              <rect x={x} y={TOP} width={slot} height={HEIGHT - TOP - BOTTOM} fill={shown === index ? "var(--sunken)" : "transparent"} />
              {!isFuture &&
                stackOf(day, measure).map(({ part, from, to }) => (
                  <rect
                    key={part}
                    x={x + slot * 0.15}
                    y={y(to)}
                    width={Math.max(1, slot * 0.7)}
                    height={Math.max(1, y(from) - y(to))}
                    fill={fillOf(part)}
                  />
                ))}
              {index % every === 0 && (
                <text x={x + slot / 2} y={HEIGHT - 6} textAnchor="middle" className={classes.tick}>
                  {formatInstant(noonOf(day.key), "UTC", "date").replace(/^\S+\s/, "")}
                </text>
              )}
            </g>
          );
        })}
        {isLimitNear && (
          <line x1={LEFT} x2={width} y1={y(limit)} y2={y(limit)} stroke="var(--limit-line)" strokeDasharray="6 3" />
        )}
      </svg>
      <p className={classes.readout}>
        {read
          ? `${formatInstant(noonOf(read.key), "UTC", "date")}: ${PARTS.filter((part) => part !== "unread" || read.unread_permille_s > 0)
              .map((part) => `${t(PART_NAMES[part])} ${formatNumber(partOf(read, part, measure), 4)}`)
              .join(", ")} (${unit})`
          : `${t("cost.in_unit", { unit })}${limit !== null && measure === "hours" ? `. ${t("cost.quota_line", { hours: formatNumber(limit, 1) })}` : ""}`}
      </p>
    </div>
  );
}
