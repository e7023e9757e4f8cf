import { STEPS, timelineOf, type Step } from "@/features/lease/timeline";
import { Icon, type IconName } from "@/components/icon";
import { When } from "@/components/when";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { phaseOf, type Reservation } from "@/lib/reservation";
import classes from "@/features/lease/state-timeline.module.css";

type StateTimelineProps = { reservation: Reservation; events: readonly Schema<"ReservationEvent">[] };

const ICONS: Record<Step["status"], IconName> = {
  done: "check",
  current: "play",
  ahead: "clock",
  skipped: "minus",
  failed: "cross",
};

/** The way from the wish to the end: what is behind, where it is, what is to come. */
export function StateTimeline({ reservation, events }: StateTimelineProps) {
  const t = useT();
  const isOver = phaseOf(reservation) === "ended";
  return (
    <ol className={classes.steps} aria-label={t("lease.timeline")} style={{ gridTemplateColumns: `repeat(${STEPS.length}, 1fr)` }}>
      {timelineOf(reservation, events).map((step) => (
        <li
          key={step.name}
          className={`${classes.step} ${classes[step.status]}`}
          aria-current={step.status === "current" ? "step" : undefined}
        >
          <span className={classes.mark}>
            <Icon name={ICONS[step.status]} size={12} />
          </span>
          <span className={classes.name}>{step.name === "ended" && !isOver ? t("lease.step.ends") : t(`lease.step.${step.name}`)}</span>
          <span className={classes.at}>
            {step.at ? <When at={step.at} /> : step.name === "ended" && !isOver && reservation.ends_at === null ? t("common.open_end") : t(`lease.step.${step.status}`)}
          </span>
        </li>
      ))}
    </ol>
  );
}
