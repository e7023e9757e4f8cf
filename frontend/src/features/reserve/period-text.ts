/** A period on screen; a day that both ends share is said once. */
import { formatInstant } from "@/lib/time-format";

export function periodText(startsAt: string, endsAt: string, zone: string): string {
  const isOneDay = formatInstant(startsAt, zone, "date") === formatInstant(endsAt, zone, "date");
  return `${formatInstant(startsAt, zone)} – ${formatInstant(endsAt, zone, isOneDay ? "time" : "short")}`;
}
