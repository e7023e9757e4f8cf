import { memo } from "react";
import { useT } from "@/lib/i18n";
import { formatInstant } from "@/lib/time-format";
import classes from "./calendar.module.css";
import { dateOf, HOUR_MS, hoursOf, placeOf, ticksOf, type Range } from "./range";

type TimeHeaderProps = { range: Range; zone: string; now: number; /** px of the whole range */ width: number };

const NOW_PX = 44;

const percent = (part: number) => `${part * 100}%`;

/** How many hours apart the ticks stand, so that their labels do not touch. */
export function ticksEvery(range: Range, width: number): number {
  const perHour = width / ((range.to - range.from) / HOUR_MS);
  return [1, 2, 3, 6].find((hours) => hours * perHour >= 42) ?? 12;
}

/** Drawn anew only when what it shows is another: a week has hundreds of clock times to work out. */
export const TimeHeader = memo(function TimeHeader({ range, zone, now, width }: TimeHeaderProps) {
  const t = useT();
  const today = dateOf(now, zone);
  const every = ticksEvery(range, width);
  const isNow = range.from <= now && now < range.to;
  /** The time of now stands there instead. */
  const isHidden = (at: number) => isNow && Math.abs(placeOf(at, range) - placeOf(now, range)) * width < NOW_PX;
  return (
    <div className={classes.times} style={{ width }}>
      {range.days.map((day) => (
        <div
          key={day.date}
          className={classes.day}
          style={{ left: percent(placeOf(day.from, range)), width: percent(placeOf(day.to, range) - placeOf(day.from, range)) }}
        >
          <span className={`${classes.dayName} ${day.date === today ? classes.today : ""}`}>
            {formatInstant(day.from, zone, "date")}
            {day.date === today && ` · ${t("calendar.today")}`}
            {hoursOf(day) !== 24 && <span className={classes.dayNote}>{t("calendar.day_hours", { n: hoursOf(day) })}</span>}
          </span>
        </div>
      ))}
      {range.days.flatMap((day) =>
        ticksOf(day, zone, every).filter((tick) => !isHidden(tick.at)).map((tick) => (
          <span key={tick.at} className={classes.tick} style={{ left: percent(placeOf(tick.at, range)) }}>
            {tick.offset !== null && <span className={classes.tickOffset}>{tick.offset.replace("UTC", "")}</span>}
            {tick.label}
          </span>
        )),
      )}
      {isNow && (
        <span className={classes.nowTag} style={{ left: percent(placeOf(now, range)) }}>
          {formatInstant(now, zone, "time")}
        </span>
      )}
    </div>
  );
});
