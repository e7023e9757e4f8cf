import { memo } from "react";
import classes from "./calendar.module.css";
import { placeOf, ticksOf, type Range } from "./range";
import { ticksEvery } from "./time-header";

type LinesProps = { range: Range; zone: string; now: number; width: number };

const percent = (part: number) => `${part * 100}%`;

const isIn = (range: Range, now: number) => range.from <= now && now < range.to;

/** Hours, days and the past, dimmed, behind the rows: one layer for all of them. */
export const Lines = memo(function Lines({ range, zone, now, width }: LinesProps) {
  const every = ticksEvery(range, width);
  const starts = new Set(range.days.map((day) => day.from));
  const ticks = range.days.flatMap((day) => ticksOf(day, zone, every)).filter((tick) => !starts.has(tick.at));
  return (
    <div className={classes.lines} style={{ width }} aria-hidden="true">
      {now > range.from && (
        <div className={classes.pastShade} style={{ width: percent(Math.min(1, placeOf(now, range))) }} />
      )}
      {ticks.map((tick) => (
        <div key={tick.at} className={classes.hourLine} style={{ left: percent(placeOf(tick.at, range)) }} />
      ))}
      {range.days.map((day) => (
        <div key={day.date} className={classes.dayLine} style={{ left: percent(placeOf(day.from, range)) }} />
      ))}
    </div>
  );
});

/** Where now is; lies above the rows. */
export function NowLine({ range, now, width }: Omit<LinesProps, "zone">) {
  if (!isIn(range, now)) return null;
  return (
    <div className={`${classes.lines} ${classes.over}`} style={{ width }} aria-hidden="true">
      <div className={classes.nowLine} style={{ left: percent(placeOf(now, range)) }} />
    </div>
  );
}
