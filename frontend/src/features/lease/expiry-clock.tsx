import { Button } from "@mantine/core";
import { Icon } from "@/components/icon";
import { Panel } from "@/components/panel";
import { When } from "@/components/when";
import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { bookedSeconds, phaseOf, type Reservation } from "@/lib/reservation";
import { formatInstant } from "@/lib/time-format";
import { formatClock, formatDuration } from "@/lib/units";
import classes from "@/features/lease/meters.module.css";

type ExpiryClockProps = { reservation: Reservation; /** Absent where it cannot be extended. */ onExtend?: () => void };

const WARN_S = 600;

/** Seconds before the end at which to warn: ten minutes, or a fifth of a short booking. */
export function warnSeconds(reservation: Pick<Reservation, "starts_at" | "ends_at">): number {
  const booked = bookedSeconds(reservation);
  return booked === null ? 0 : Math.min(WARN_S, booked / 5);
}

function Passed({ passed, total }: { passed: number; total: number }) {
  const percent = Math.min(100, Math.max(0, (passed / total) * 100));
  return (
    <div className={classes.track} aria-hidden="true">
      <div className={classes.passed} style={{ width: `${percent}%` }} />
    </div>
  );
}

/** Counts to the start or to the end, by the server's clock: a wrong clock here changes nothing. */
export function ExpiryClock({ reservation, onExtend }: ExpiryClockProps) {
  const t = useT();
  const now = useNow(1_000);
  const { zone } = useZone();
  const phase = phaseOf(reservation);
  const starts = Date.parse(reservation.starts_at);
  if (phase === "ended") {
    return (
      <Panel title={t("lease.clock")}>
        <p className={classes.big}>{t("lease.clock_over")}</p>
        <p className={classes.quiet}>
          <When at={reservation.ended_at} />
        </p>
      </Panel>
    );
  }
  if (phase === "booked" && starts > now) {
    return (
      <Panel title={t("lease.clock_to_start")}>
        <p className={classes.big} role="timer">
          {formatClock((starts - now) / 1000)}
        </p>
        <p className={classes.quiet}>{t("lease.clock_starts", { at: formatInstant(starts, zone) })}</p>
      </Panel>
    );
  }
  if (reservation.ends_at === null) {
    return (
      <Panel title={t("lease.clock")}>
        <p className={classes.big}>{t("lease.clock_open")}</p>
        <p className={classes.quiet}>{t("lease.clock_open_text")}</p>
      </Panel>
    );
  }
  const ends = Date.parse(reservation.ends_at);
  const left = (ends - now) / 1000;
  const isNear = phase === "running" && left <= warnSeconds(reservation);
  return (
    <Panel title={t("lease.clock")}>
      <p className={`${classes.big} ${isNear ? classes.near : ""}`} role="timer">
        {isNear && <Icon name="warning" size={20} />}
        {formatClock(left)}
      </p>
      <Passed passed={now - starts} total={ends - starts} />
      <p className={classes.quiet}>{t("lease.clock_ends", { at: formatInstant(ends, zone) })}</p>
      {isNear && left > 0 && (
        <div className={classes.warning} role="alert">
          <p>{t("lease.clock_warning", { time: formatDuration(Math.max(60, Math.ceil(left / 60) * 60)) })}</p>
          {onExtend && (
            <Button size="xs" onClick={onExtend}>
              {t("lease.extend")}
            </Button>
          )}
        </div>
      )}
    </Panel>
  );
}
