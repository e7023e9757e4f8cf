import { StateBadge } from "@/components/state-badge";
import { Id } from "@/components/id";
import { reasonKey } from "@/features/lease/notice";
import { useZone } from "@/hooks/use-zone";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { formatInstant } from "@/lib/time-format";
import classes from "@/features/lease/history.module.css";

const SYSTEM = "system:";

/** Every change of state: when, to what, why, by whom. The newest first. */
export function History({ events }: { events: readonly Schema<"ReservationEvent">[] }) {
  const t = useT();
  const { zone } = useZone();
  return (
    <details className={classes.history}>
      <summary className={classes.summary}>{t("lease.history", { n: String(events.length) })}</summary>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">{t("lease.history_at")}</th>
              <th scope="col">{t("lease.history_state")}</th>
              <th scope="col">{t("lease.history_reason")}</th>
              <th scope="col">{t("lease.history_by")}</th>
            </tr>
          </thead>
          <tbody>
            {[...events].reverse().map((event) => {
              const known = reasonKey(event.reason);
              return (
                <tr key={event.version}>
                  <td className={classes.at}>{formatInstant(event.at, zone, "exact")}</td>
                  <td>
                    <StateBadge state={event.to_state} />
                  </td>
                  <td>{known ? t(known) : event.reason}</td>
                  <td>{event.actor.startsWith(SYSTEM) ? t("lease.by_system") : <Id value={event.actor} />}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}
