import { configure, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { setZoneMode } from "@/hooks/use-zone";
import { FREE_DEVICE, makeItem, makePiece, RESERVATION, serveCalendar, standAt } from "@/test/calendar";
import { renderPage } from "@/test/render";
import { CalendarPage } from "./calendar-page";

configure({ asyncUtilTimeout: 8_000 });
vi.setConfig({ testTimeout: 60_000 });

const HOUR_PX = 28;
const ALWAYS = [{ starts_at: "2026-10-01T00:00:00Z", ends_at: "2027-06-01T00:00:00Z" }];
const open = (date: string, view = "day") => renderPage(CalendarPage, { at: `/calendar?date=${date}&view=${view}` });
const track = async () =>
  waitFor(() => {
    const found = document.querySelector<HTMLElement>(`[data-device="${FREE_DEVICE}"]`);
    if (!found) throw new Error("no row");
    return found;
  });
const type = async (label: string, local: string) =>
  fireEvent.change(await screen.findByLabelText(label), { target: { value: local } });

beforeEach(() => {
  standAt("2026-10-20T08:05:00Z");
  setZoneMode("browser");
});

describe("the day on which clocks go forward", () => {
  it("is 23 hours long on screen, and its hours are real ones", async () => {
    const { quotes } = serveCalendar([makeItem({ free: ALWAYS })]);
    const { user } = await open("2027-03-28");
    expect(await screen.findByText("23 hours: the clocks change")).toBeVisible();
    const row = await track();
    expect(row).toHaveStyle({ width: `${23 * HOUR_PX}px` });
    // The third hour of that day begins at 03:00 by the clock.
    await user.pointer([{ keys: "[MouseLeft]", target: row, coords: { clientX: 2 * HOUR_PX + 1 } }]);
    await user.pointer([{ keys: "[MouseLeft]", target: row, coords: { clientX: 3 * HOUR_PX - 1 } }]);
    await waitFor(() => expect(quotes).toHaveLength(1));
    expect(quotes[0]?.body).toMatchObject({ starts_at: "2027-03-28T01:00:00.000Z", ends_at: "2027-03-28T02:00:00.000Z" });
    expect(screen.getByLabelText("Start")).toHaveValue("2027-03-28T03:00");
  });

  it("refuses a 02:30 that does not exist, with a hint that one click takes", async () => {
    const { quotes } = serveCalendar([makeItem({ free: ALWAYS })]);
    const { user } = await open("2027-03-28");
    await type("Start", "2027-03-28T02:30");
    await type("End", "2027-03-28T05:00");
    expect(screen.getByText("The clocks in Europe/Berlin jump over this time. The next is 03:30.")).toBeVisible();
    expect(quotes).toHaveLength(0);
    await user.click(screen.getByRole("button", { name: "Use 03:30" }));
    await waitFor(() => expect(quotes).toHaveLength(1));
    expect(quotes[0]?.body).toMatchObject({ starts_at: "2027-03-28T01:30:00.000Z" });
  });
});

describe("the day on which clocks go back", () => {
  it("is 25 hours long and shows 02:00 twice, told apart", async () => {
    serveCalendar([makeItem({ free: ALWAYS })]);
    await open("2026-10-25");
    expect(await screen.findByText("25 hours: the clocks change")).toBeVisible();
    expect(await track()).toHaveStyle({ width: `${25 * HOUR_PX}px` });
    expect(screen.getByText("+02:00")).toBeVisible();
    expect(screen.getByText("+01:00")).toBeVisible();
  });

  it("asks which of two 02:30 is meant, and takes none until told", async () => {
    const { quotes } = serveCalendar([makeItem({ free: ALWAYS })]);
    const { user } = await open("2026-10-25");
    await type("Start", "2026-10-25T02:30");
    await type("End", "2026-10-25T06:00");
    expect(screen.getByText("The clocks in Europe/Berlin show this time twice. Choose which one.")).toBeVisible();
    expect(quotes).toHaveLength(0);
    await user.click(screen.getByRole("radio", { name: "Second (UTC+01:00)" }));
    await waitFor(() => expect(quotes).toHaveLength(1));
    expect(quotes[0]?.body).toMatchObject({ starts_at: "2026-10-25T01:30:00.000Z", ends_at: "2026-10-25T05:00:00.000Z" });
    await user.click(screen.getByText("Do this from a terminal"));
    expect(screen.getByText(/^vxpu reserve create/)).toHaveTextContent("--start 2026-10-25T02:30:00+01:00");
  });
});

describe("midnight and zones", () => {
  const late = makePiece({
    starts_at: "2026-11-30T21:00:00Z",
    ends_at: "2026-12-01T01:00:00Z",
    mine: true,
    reservation: RESERVATION,
    name: "night training",
    state: "confirmed",
  });

  it.each(["2026-11-30", "2026-12-01"])("22:00 for 4 h shows on both days: %s", async (date) => {
    serveCalendar([makeItem({ pieces: [late] })]);
    await open(date);
    const link = within(await track()).getByRole("link", { name: /night training/ });
    expect(link).toHaveAccessibleName(/Mon 30 Nov, 22:00 – Tue 1 Dec, 02:00 \(4\sh\)/);
  });

  it("asks for the days of the zone that was chosen", async () => {
    const { availability } = serveCalendar([makeItem({ free: ALWAYS })]);
    await open("2026-11-30", "3days");
    await track();
    expect(availability.at(-1)?.url.searchParams.get("from")).toBe("2026-11-29T23:00:00.000Z");
    setZoneMode("utc");
    await waitFor(() => expect(availability.at(-1)?.url.searchParams.get("from")).toBe("2026-11-30T00:00:00.000Z"));
    expect(availability.at(-1)?.url.searchParams.get("to")).toBe("2026-12-03T00:00:00.000Z");
  });

  it("starts now when the quarter of an hour is running, never in the past", async () => {
    const { quotes } = serveCalendar([makeItem({ free: ALWAYS })]);
    const { user } = await open("2026-10-20");
    await type("Start", "2026-10-20T09:00");
    expect(await screen.findByText("This is over. Start now or later.")).toBeVisible();
    await user.click(screen.getByRole("button", { name: /^1\sh$/ }));
    await type("Start", "2026-10-20T10:00");
    await type("End", "2026-10-20T12:00");
    await waitFor(() => expect(quotes.at(-1)?.body).toMatchObject({ starts_at: null, ends_at: "2026-10-20T10:00:00.000Z" }));
  });
});
