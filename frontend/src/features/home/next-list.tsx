import { Link } from "@tanstack/react-router";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { nameOf } from "@/lib/reservation-words";
import classes from "@/features/home/home.module.css";

const SHOWN = 6;

function placeOf(reservation: Reservation): string {
  const queue = reservation.queue;
  if (!queue) return "";
  return queue.best === queue.worst ? String(queue.best) : `${queue.best}–${queue.worst}`;
}

/** What is booked ahead or waits in line, the soonest first. */
export function NextList({ ahead }: { ahead: readonly Reservation[] }) {
  const t = useT();
  if (ahead.length === 0) return <p className={classes.quiet}>{t("home.next_none")}</p>;
  return (
    <ul className={classes.list}>
      {ahead.slice(0, SHOWN).map((reservation) => (
        <li key={reservation.id} className={classes.row}>
          <Link to="/reservations/$id" params={{ id: reservation.id }} className={classes.rowName}>
            <bdi>{nameOf(reservation)}</bdi>
          </Link>
          <span className={classes.rowFact}>
            {reservation.queue ? t("home.in_line", { place: placeOf(reservation) }) : <When at={reservation.starts_at} />}
          </span>
          <StateBadge state={reservation.state} />
        </li>
      ))}
    </ul>
  );
}
