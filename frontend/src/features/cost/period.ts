import type { CostSearch } from "@/features/cost/cost-search";
import { addDays, nearestInstant, parseLocal, startOfDay, toLocalText, zonedParts } from "@/lib/time";

/** Whole days of the account: from the first until the last, as the API takes it (`to` is not included). */
export type Period = { from: string; to: string; firstDay: string; lastDay: string };

const dayText = (at: Date, zone: string) => toLocalText(at, zone).slice(0, 10);

function between(first: Date, end: Date, zone: string): Period {
  return {
    from: first.toISOString(),
    to: end.toISOString(),
    firstDay: dayText(first, zone),
    lastDay: dayText(addDays(end, -1, zone), zone),
  };
}

/** The first of the month that holds an instant, `months` later. */
function firstOfMonth(at: number, months: number, zone: string): Date {
  const { year, month } = zonedParts(at, zone);
  const count = year * 12 + month - 1 + months;
  const wall = { year: Math.floor(count / 12), month: (count % 12) + 1, day: 1, hour: 0, minute: 0, second: 0 };
  return nearestInstant(wall, zone);
}

function custom(first: string, last: string, zone: string): Period | null {
  const [from, to] = [parseLocal(first), parseLocal(last)];
  if (!from || !to || first > last) return null;
  return between(nearestInstant(from, zone), addDays(nearestInstant(to, zone), 1, zone), zone);
}

/** The period that an address asks for; this month when it asks for none, or for one that cannot be. */
export function periodOf(search: CostSearch, now: number, zone: string): Period {
  const today = startOfDay(now, zone);
  const month = between(firstOfMonth(now, 0, zone), firstOfMonth(now, 1, zone), zone);
  switch (search.range) {
    case "last_month":
      return between(firstOfMonth(now, -1, zone), firstOfMonth(now, 0, zone), zone);
    case "7d":
      return between(addDays(today, -6, zone), addDays(today, 1, zone), zone);
    case "30d":
      return between(addDays(today, -29, zone), addDays(today, 1, zone), zone);
    case "custom":
      return (search.from && search.to && custom(search.from, search.to, zone)) || month;
    default:
      return month;
  }
}
