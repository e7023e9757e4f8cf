import { useNavigate, useSearch } from "@tanstack/react-router";
import { serverNow } from "@/lib/clock";
import { dateOf, isDate, VIEWS, type View } from "./range";
import type { Size } from "./types";

export type CalendarParams = {
  view: View;
  /** The day by the zone's clock. */
  date: string;
  model: string;
  rack: string;
  fitsOnly: boolean;
  size: Size;
};

type Change = Partial<Omit<CalendarParams, "size">> & Partial<Size>;

const START: Size = { memory_mib: 1024, share_permille: 250 };

const text = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

function whole(value: unknown, most: number, otherwise: number): number {
  const number = Number(text(value) || Number.NaN);
  return Number.isSafeInteger(number) && number >= 1 && number <= most ? number : otherwise;
}

/** What is on screen lives in the address: a view can be sent to a colleague, and Back goes back. */
export function useCalendarParams(zone: string): [CalendarParams, (change: Change) => void] {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const date = text(search["date"]);
  const params: CalendarParams = {
    view: VIEWS.find((view) => view === search["view"]) ?? "day",
    date: isDate(date) ? date : dateOf(serverNow(), zone),
    model: text(search["model"]),
    rack: text(search["rack"]),
    fitsOnly: text(search["fits"]) === "1",
    size: {
      memory_mib: whole(search["memory_mib"], 2 ** 40, START.memory_mib),
      share_permille: whole(search["share_permille"], 1000, START.share_permille),
    },
  };
  const change = ({ fitsOnly, ...rest }: Change) => {
    const fits: [string, unknown][] = fitsOnly === undefined ? [] : [["fits", fitsOnly ? 1 : undefined]];
    const changed = [...Object.entries(rest).map(([name, value]) => [name, value === "" ? undefined : value]), ...fits];
    const next: Record<string, unknown> = Object.fromEntries(changed);
    void navigate({
      to: ".",
      search: (before: Record<string, unknown>) => ({ ...before, ...next }),
      // A typed size is no place to come back to; another day is.
      replace: !("date" in rest) && !("view" in rest),
    });
  };
  return [params, change];
}
