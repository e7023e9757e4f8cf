import { configure, fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";
import { setZoneMode } from "@/hooks/use-zone";
import { makeBought, makeItem, serveCalendar, standAt } from "@/test/calendar";
import { pageOf, serve } from "@/test/network";
import { renderPage } from "@/test/render";
import { CalendarPage } from "./calendar-page";

configure({ asyncUtilTimeout: 8_000 });
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => {
  standAt("2026-11-30T08:05:00Z");
  setZoneMode("browser");
  vi.stubGlobal("matchMedia", (query: string) => ({
    matches: query.includes("max-width: 48em"),
    media: query,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  }));
});

it("a narrow screen lists mine by day, on both days over midnight, and reserves by the form", async () => {
  const { quotes } = serveCalendar([makeItem()]);
  const late = makeBought({ starts_at: "2026-11-30T21:00:00Z", ends_at: "2026-12-01T01:00:00Z" });
  serve("get", "/reservations", pageOf([late]));
  const { user } = await renderPage(CalendarPage, { at: "/calendar?date=2026-11-30" });
  const first = await screen.findByRole("region", { name: "Mon 30 Nov" });
  expect(within(first).getByRole("link")).toHaveTextContent(/22:00until Tue 1 Dec, 02:00night training/);
  expect(within(screen.getByRole("region", { name: "Tue 1 Dec" })).getByRole("link")).toHaveTextContent(/continues02:00/);
  expect(within(screen.getByRole("region", { name: "Wed 2 Dec" })).getByText("Nothing reserved")).toBeVisible();
  expect(screen.queryByRole("treegrid")).not.toBeInTheDocument();
  fireEvent.change(screen.getByLabelText("Start"), { target: { value: "2026-12-01T10:00" } });
  fireEvent.change(screen.getByLabelText("End"), { target: { value: "2026-12-01T12:00" } });
  await user.click(await screen.findByRole("button", { name: /^Reserve for 0\.75\sEUR$/ }));
  expect(await screen.findByText("Reserved")).toBeVisible();
  expect(quotes.at(-1)?.body).toMatchObject({ device: null, starts_at: "2026-12-01T09:00:00.000Z" });
});
