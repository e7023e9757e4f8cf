import { Link } from "@tanstack/react-router";
import { StateBadge } from "@/components/state-badge";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { nameOf, sizeText } from "@/lib/reservation-words";
import { formatInstant } from "@/lib/time-format";
import { agendaOf, type Entry } from "./agenda";
import classes from "./agenda-list.module.css";
import { hoursOf, type Range } from "./range";

type AgendaListProps = { range: Range; zone: string; reservations: Reservation[] };

function Times({ entry, zone }: { entry: Entry; zone: string }) {
  const t = useT();
  const { starts_at, ends_at } = entry.reservation;
  return (
    <span className={classes.times}>
      <span>{entry.isContinued ? t("calendar.goes_on_from") : formatInstant(starts_at, zone, "time")}</span>
      <span>
        {ends_at === null
          ? t("common.open_end")
          : entry.goesOn
            ? t("calendar.goes_on_until", { at: formatInstant(ends_at, zone, "short") })
            : formatInstant(ends_at, zone, "time")}
      </span>
    </span>
  );
}

/** The viewer's own, day by day: what a narrow screen shows of the calendar. */
export function AgendaList({ range, zone, reservations }: AgendaListProps) {
  const t = useT();
  return (
    <div>
      {agendaOf(range, reservations).map(({ day, entries }) => (
        <section key={day.date} aria-label={formatInstant(day.from, zone, "date")}>
          <h2 className={classes.day}>
            {formatInstant(day.from, zone, "date")}
            {hoursOf(day) !== 24 && <span className={classes.note}>{t("calendar.day_hours", { n: hoursOf(day) })}</span>}
          </h2>
          {entries.length === 0 && <p className={classes.none}>{t("calendar.nothing_that_day")}</p>}
          {entries.map((entry) => (
            <Link
              key={entry.reservation.id}
              to="/reservations/$id"
              params={{ id: entry.reservation.id }}
              className={classes.entry}
            >
              <Times entry={entry} zone={zone} />
              <span className={classes.what}>
                <bdi className={classes.name}>{nameOf(entry.reservation)}</bdi>
                <span className={classes.note}>{sizeText(entry.reservation.slice)}</span>
              </span>
              <StateBadge state={entry.reservation.state} />
            </Link>
          ))}
        </section>
      ))}
    </div>
  );
}
