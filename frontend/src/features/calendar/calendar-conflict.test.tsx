import { configure, screen, waitFor, within } from "@testing-library/react";
import { HttpResponse } from "msw";
import { beforeEach, expect, it, vi } from "vitest";
import { setZoneMode } from "@/hooks/use-zone";
import {
  BUSY_DEVICE,
  FREE_DEVICE,
  makeItem,
  makePiece,
  makeRefusal,
  serveCalendar,
  standAt,
} from "@/test/calendar";
import { serve } from "@/test/network";
import { renderPage } from "@/test/render";
import { CalendarPage } from "./calendar-page";

configure({ asyncUtilTimeout: 8_000 });
vi.setConfig({ testTimeout: 60_000 });

const HOUR_PX = 28;
const open = () => renderPage(CalendarPage, { at: "/calendar?date=2026-12-01&memory_mib=4096&share_permille=250" });
const track = async (device: string) =>
  waitFor(() => {
    const found = document.querySelector<HTMLElement>(`[data-device="${device}"]`);
    if (!found) throw new Error("no row");
    return found;
  });

type User = Awaited<ReturnType<typeof open>>["user"];
/** Two clicks: 10:00 to 12:00 on the device. */
async function choose(user: User, device: string) {
  const row = await track(device);
  await user.pointer([{ keys: "[MouseLeft]", target: row, coords: { clientX: 10 * HOUR_PX + 1 } }]);
  await user.pointer([{ keys: "[MouseLeft]", target: row, coords: { clientX: 12 * HOUR_PX - 1 } }]);
}

const free = (from: string, to: string) => [{ starts_at: `2026-12-01T${from}:00Z`, ends_at: `2026-12-01T${to}:00Z` }];
const busy = makeItem({ device: BUSY_DEVICE, free: free("11:00", "18:00") });
const spare = makeItem({ device: FREE_DEVICE, free: free("06:00", "18:00") });
const smaller = {
  kind: "smaller",
  starts_at: "2026-12-01T09:00:00Z",
  ends_at: "2026-12-01T11:00:00Z",
  device: BUSY_DEVICE,
  slice: { memory_mib: 2048, share_permille: 125 },
};

beforeEach(() => {
  standAt("2026-11-30T08:05:00Z");
  setZoneMode("browser");
});

it("shows what does not fit as a ghost in its row, with another time, another device and a smaller size", async () => {
  const { quotes } = serveCalendar([busy, spare], (wish) =>
    wish["device"] === BUSY_DEVICE && wish["starts_at"] === "2026-12-01T09:00:00.000Z"
      ? { fits: false, refusal: makeRefusal({ alternatives: [smaller] }) }
      : {},
  );
  const { user } = await open();
  await choose(user, BUSY_DEVICE);
  expect(await within(await track(BUSY_DEVICE)).findByText(/Does not fit/)).toBeVisible();
  const ways = within(screen.getByRole("region", { name: "Reserve" })).getAllByRole("button", { name: /busy2|free1|GiB/ });
  expect(ways.map((way) => way.textContent?.replaceAll("\u00a0", " "))).toEqual([
    "Tue 1 Dec, 12:00 – 14:00 (2 h) on H200 …1busy2",
    "Same time on H200 …1free1",
    "2 GiB + 12.5 % at this time",
  ]);
  expect(screen.getByTestId("calendar-said")).toHaveTextContent("This does not fit 3 alternatives.");
  // One click on the ghost in the other device's row takes it.
  await user.click(within(await track(FREE_DEVICE)).getByRole("button", { name: "Take 10:00 – 12:00 instead" }));
  await waitFor(() => expect(quotes.at(-1)?.body).toMatchObject({ device: FREE_DEVICE, starts_at: "2026-12-01T09:00:00.000Z" }));
  await waitFor(() => expect(screen.getByRole("button", { name: /^Reserve for/ })).toHaveFocus());
});

it("takes a smaller size over into the page's size", async () => {
  serveCalendar([busy], (wish) =>
    (wish["slice"] as { memory_mib: number }).memory_mib === 4096
      ? { fits: false, refusal: makeRefusal({ alternatives: [smaller] }) }
      : {},
  );
  const { user, router } = await open();
  await choose(user, BUSY_DEVICE);
  await user.click(await screen.findByRole("button", { name: /^2\sGiB \+ 12.5\s% at this time$/ }));
  expect(await screen.findByRole("button", { name: /^Reserve for/ })).toBeVisible();
  expect(router.state.location.search).toMatchObject({ memory_mib: 2048, share_permille: 125 });
});

it("two tabs race for the last quarter: the loser sees who was faster in the row, and ways out in place", async () => {
  let isTaken = false;
  const taken = makePiece({ starts_at: "2026-12-01T09:00:00Z", ends_at: "2026-12-01T11:00:00Z" });
  const { availability } = serveCalendar(
    () => (isTaken ? [{ ...busy, pieces: [taken] }, spare] : [{ ...busy, free: spare.free }, spare]),
    () => (isTaken ? { fits: false, refusal: makeRefusal() } : {}),
  );
  serve("post", "/reservations", () => {
    isTaken = true;
    const problem = { ...makeRefusal({ alternatives: [smaller] }), title: "No room.", request_id: "req_1", status: 409 };
    return HttpResponse.json(problem, { status: 409, headers: { "Content-Type": "application/problem+json" } });
  });
  const { user } = await open();
  await choose(user, BUSY_DEVICE);
  await user.click(await screen.findByRole("button", { name: /^Reserve for/ }));
  expect(await screen.findByText("Someone was faster: this time is taken")).toBeVisible();
  await waitFor(() => expect(availability.length).toBeGreaterThan(1));
  expect(await screen.findByRole("button", { name: /^Same time on H200/ })).toBeVisible();
  expect(within(await track(BUSY_DEVICE)).getByText(/Does not fit/)).toBeVisible();
});

it("an expired quote is said, and the price of now is there to take", async () => {
  const { quotes } = serveCalendar([spare], () => ({ id: `quo_${quotes.length}` }));
  serve("post", "/reservations", () =>
    HttpResponse.json(
      { code: "quote_expired", title: "The quote's time is over; its price is no longer held.", detail: "", suggestion: "Take the new one.", request_id: "req_1" },
      { status: 409, headers: { "Content-Type": "application/problem+json" } },
    ),
  );
  const { user } = await open();
  await choose(user, FREE_DEVICE);
  await user.click(await screen.findByRole("button", { name: /^Reserve for/ }));
  expect(await screen.findByText("The quote's time is over; its price is no longer held.")).toBeVisible();
  await waitFor(() => expect(quotes.length).toBeGreaterThan(1));
  expect(screen.getByRole("button", { name: /^Reserve for/ })).toBeEnabled();
});
