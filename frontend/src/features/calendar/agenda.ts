/** The viewer's reservations by day: one that goes over midnight is listed on both days. */
import { phaseOf, type Reservation } from "@/lib/reservation";
import { spanOf } from "./layout";
import { overlaps, type Day, type Range } from "./range";

export type Entry = {
  reservation: Reservation;
  /** Began on an earlier day. */
  isContinued: boolean;
  /** Goes on after this day. */
  goesOn: boolean;
};

export function entriesOf(day: Day, reservations: Reservation[]): Entry[] {
  return reservations
    .filter((one) => phaseOf(one) !== "ended" && phaseOf(one) !== "waiting" && overlaps(spanOf(one), day))
    .sort((a, b) => Date.parse(a.starts_at) - Date.parse(b.starts_at))
    .map((reservation) => {
      const { from, to } = spanOf(reservation);
      return { reservation, isContinued: from < day.from, goesOn: to > day.to };
    });
}

export const agendaOf = (range: Range, reservations: Reservation[]): { day: Day; entries: Entry[] }[] =>
  range.days.map((day) => ({ day, entries: entriesOf(day, reservations) }));
