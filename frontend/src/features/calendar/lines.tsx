import classes from "./calendar.module.css";
import { placeOf, ticksOf, type Range } from "./range";
import { ticksEvery } from "./time-header";

type LinesProps = { range: Range; zone: string; now: number; width: number };

const percent = (part: number) => `${part * 100}%`;

/** Hours and days behind the rows: one layer for all of them. */
export function Lines({ range, zone, width }: Omit<LinesProps, "now">) {
  const every = ticksEvery(range, width);
  const starts = new Set(range.days.map((day) => day.from));
  const ticks = range.days.flatMap((day) => ticksOf(day, zone, every)).filter((tick) => !starts.has(tick.at));
  return (
    <div className={classes.lines} style={{ width }} aria-hidden="true">
      {ticks.map((tick) => (
        <div key={tick.at} className={classes.hourLine} style={{ left: percent(placeOf(tick.at, range)) }} />
      ))}
      {range.days.map((day) => (
        <div key={day.date} className={classes.dayLine} style={{ left: percent(placeOf(day.from, range)) }} />
      ))}
    </div>
  );
}

/** What is over is dimmed; a line says where now is. Lies above the rows. */
export function NowLayer({ range, now, width }: Omit<LinesProps, "zone">) {
  const at = Math.min(1, placeOf(now, range));
  if (at <= 0) return null;
  return (
    <div className={`${classes.lines} ${classes.over}`} style={{ width }} aria-hidden="true">
      <div className={classes.pastShade} style={{ width: percent(at) }} />
      {at < 1 && <div className={classes.nowLine} style={{ left: percent(at) }} />}
    </div>
  );
}
