import { configure, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { setZoneMode } from "@/hooks/use-zone";
import { renderPage } from "@/test/render";
import {
  BUSY_DEVICE,
  FREE_DEVICE,
  makeItem,
  makePiece,
  RESERVATION,
  serveCalendar,
  standAt,
} from "@/test/calendar";
import { CalendarPage } from "./calendar-page";

/** In happy-dom a row begins at 0 and an hour of the day view is 28 px wide. */
const HOUR_PX = 28;
const DAY = "2026-12-01";
const AT = `/calendar?date=${DAY}&memory_mib=4096&share_permille=250`;

const allDay = [{ starts_at: "2026-11-30T23:00:00Z", ends_at: "2026-12-01T23:00:00Z" }];
const open = (at = AT) => renderPage(CalendarPage, { at });
const track = async (device = FREE_DEVICE) =>
  waitFor(() => {
    const found = document.querySelector<HTMLElement>(`[data-device="${device}"]`);
    if (!found) throw new Error(`no row of ${device}`);
    return found;
  });
const said = () => screen.getByTestId("calendar-said").textContent?.replaceAll("\u00a0", " ") ?? "";

configure({ asyncUtilTimeout: 8_000 });
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => {
  // Berlin's clock: 2026-11-30 09:05.
  standAt("2026-11-30T08:05:00Z");
  setZoneMode("browser");
});

const wanted = {
  project: "prj_01k2v7x9qefh8r8x5m3n1p0s4t",
  slice: { memory_mib: 4096, share_permille: 250 },
  device: FREE_DEVICE,
  starts_at: "2026-12-01T09:00:00.000Z",
  ends_at: "2026-12-01T11:00:00.000Z",
};

describe("four ways to reserve", () => {
  it("by dragging over free time in a row", async () => {
    const { quotes, purchases } = serveCalendar([makeItem({ free: allDay })]);
    const { user } = await open();
    const row = await track();
    await user.pointer([
      { keys: "[MouseLeft>]", target: row, coords: { clientX: 10 * HOUR_PX + 1 } },
      { target: row, coords: { clientX: 11 * HOUR_PX } },
      { target: row, coords: { clientX: 12 * HOUR_PX - 1 } },
      { keys: "[/MouseLeft]", target: row, coords: { clientX: 12 * HOUR_PX - 1 } },
    ]);
    await user.click(await screen.findByRole("button", { name: /^Reserve for 0\.75\sEUR$/ }));
    expect(await screen.findByText("Reserved")).toBeVisible();
    expect(quotes.map((call) => call.body)).toEqual([wanted]);
    expect(purchases[0]?.body).toMatchObject({ quote: expect.stringMatching(/^quo_/) as string, name: "" });
    expect(purchases[0]?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("by a click on the start and a click on the end, never holding a button", async () => {
    const { quotes } = serveCalendar([makeItem({ free: allDay })]);
    const { user } = await open();
    const row = await track();
    await user.pointer([{ keys: "[MouseLeft]", target: row, coords: { clientX: 10 * HOUR_PX + 1 } }]);
    expect(said()).toContain("Click the end");
    expect(quotes).toHaveLength(0);
    await user.pointer([{ keys: "[MouseLeft]", target: row, coords: { clientX: 12 * HOUR_PX - 1 } }]);
    expect(await screen.findByRole("button", { name: /^Reserve for 0\.75\sEUR$/ })).toBeVisible();
    expect(quotes.map((call) => call.body)).toEqual([wanted]);
  });

  it("by the form", async () => {
    const { quotes } = serveCalendar([makeItem({ free: allDay })]);
    const { user } = await open();
    fireEvent.change(await screen.findByLabelText("Start"), { target: { value: "2026-12-01T10:00" } });
    fireEvent.change(screen.getByLabelText("End"), { target: { value: "2026-12-01T12:00" } });
    await user.click(await screen.findByRole("button", { name: /^Reserve for 0\.75\sEUR$/ }));
    expect(await screen.findByText("Reserved")).toBeVisible();
    expect(quotes.at(-1)?.body).toEqual({ ...wanted, device: null });
  });

  it("by keys alone, told each step", async () => {
    const { quotes, purchases } = serveCalendar([makeItem({ free: allDay })]);
    const { user } = await open(AT.replace(DAY, "2026-11-30"));
    (await screen.findByRole("treegrid")).focus();
    await waitFor(() => expect(said()).toContain("H200 …1free1, alpha."));
    await user.keyboard("{ArrowRight}");
    expect(said()).toContain("09:00 – 09:15 (15 min). Does not fit.");
    await user.keyboard("{PageDown}".repeat(15) + "{Shift>}{ArrowRight}{ArrowRight}{ArrowRight}{/Shift}");
    expect(said()).toContain("Tue 1 Dec, 00:00 – 01:00 (1 h). Fits.");
    await user.keyboard("{Enter}");
    const reserve = await screen.findByRole("button", { name: /^Reserve for 0\.75\sEUR$/ });
    await waitFor(() => expect(reserve).toHaveFocus());
    expect(said()).toContain("0.75 EUR for 1 h");
    expect(quotes).toHaveLength(1);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(purchases).toHaveLength(1));
    await waitFor(() => expect(said()).toBe("Reserved."));
  });

  it("Escape gives up, step by step, and comes back to the grid", async () => {
    serveCalendar([makeItem({ free: allDay })]);
    const { user } = await open();
    (await screen.findByRole("treegrid")).focus();
    await user.keyboard("{ArrowRight}{Enter}");
    await waitFor(() => expect(screen.getByRole("button", { name: /^Reserve for/ })).toHaveFocus());
    await user.keyboard("{Escape}");
    expect(screen.queryByRole("button", { name: /^Reserve for/ })).not.toBeInTheDocument();
    expect(screen.getByRole("treegrid")).toHaveFocus();
    expect(said()).toContain("Cancelled");
  });
});

describe("rows", () => {
  it("shows mine with name and state, others nameless, maintenance with its reason", async () => {
    const mine = makePiece({
      starts_at: "2026-12-01T08:00:00Z",
      ends_at: "2026-12-01T10:00:00Z",
      mine: true,
      reservation: RESERVATION,
      name: "تدريب",
      state: "confirmed",
    });
    const other = makePiece({ starts_at: "2026-12-01T09:00:00Z", ends_at: "2026-12-01T10:00:00Z", lane: 1 });
    const closed = { starts_at: "2026-12-01T12:00:00Z", ends_at: null, reason: "new driver" };
    serveCalendar([makeItem({ pieces: [mine, other], maintenance: [closed] })]);
    await open();
    const link = within(await track()).getByRole("link", { name: /تدريب, Confirmed: Tue 1 Dec, 09:00 – 11:00 \(2\sh\)/ });
    expect(link).toHaveAttribute("href", `/reservations/${RESERVATION}`);
    expect(within(await track()).getAllByRole("link")).toHaveLength(1);
    expect(screen.getByText("Maintenance: new driver")).toBeVisible();
  });

  it("closes and opens racks and nodes, by pointer and by keys", async () => {
    serveCalendar([makeItem(), makeItem({ device: BUSY_DEVICE, node: "nod_2", hostname: "beta" })]);
    const { user } = await open();
    await user.click(await screen.findByRole("button", { name: "beta" }));
    expect(document.querySelector(`[data-device="${BUSY_DEVICE}"]`)).toBeNull();
    screen.getByRole("treegrid").focus();
    await user.keyboard("{Home}{ArrowLeft}");
    expect(screen.queryByRole("button", { name: "alpha" })).not.toBeInTheDocument();
    expect(screen.getByRole("row", { name: /R1/ })).toHaveAttribute("aria-expanded", "false");
  });

  it("filters by class and by where the size fits, in the address", async () => {
    serveCalendar([makeItem({ free: allDay }), makeItem({ device: BUSY_DEVICE, model: "A100" })]);
    const { user, router } = await open();
    await track(BUSY_DEVICE);
    await user.click(screen.getByRole("checkbox", { name: "Only where it fits" }));
    await waitFor(() => expect(document.querySelector(`[data-device="${BUSY_DEVICE}"]`)).toBeNull());
    expect(router.state.location.search).toMatchObject({ fits: 1 });
  });

  it("draws no more of a thousand rows than fit on the screen", async () => {
    const many = Array.from({ length: 1000 }, (_, n) => makeItem({ device: `dev_${n}`, node: `nod_${n % 100}`, hostname: `n${n % 100}` }));
    serveCalendar(many);
    await open();
    expect(await screen.findByText("1,000 devices")).toBeVisible();
    expect(screen.getAllByRole("row").length).toBeLessThan(50);
    expect(screen.getByRole("treegrid")).toHaveAttribute("aria-rowcount", "1102");
  });
});

describe("nothing there", () => {
  it("says who brings devices", async () => {
    serveCalendar([]);
    await open();
    expect(await screen.findByText("No devices yet")).toBeVisible();
  });

  it("tells when the size fits next, and goes there", async () => {
    const refusal = { code: "no_capacity", detail: "", suggestion: "", constraints: {}, nearest: [], alternatives: [], next_free_at: "2026-12-04T13:00:00Z" };
    serveCalendar([makeItem()], () => ({ fits: false, device: null, refusal }));
    const { user, router } = await open();
    expect(await screen.findByText(/It fits from Fri/)).toHaveTextContent("It fits from Fri 4 Dec, 14:00.");
    await user.click(screen.getByRole("button", { name: "Go there" }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ date: "2026-12-04" }));
  });

  it("shows what went wrong, and tries again when asked", async () => {
    serveCalendar([makeItem()]);
    const { network } = await import("@/test/network");
    const { http, HttpResponse } = await import("msw");
    network.use(http.get("*/api/v1/availability", () => HttpResponse.json({ code: "boom", title: "It broke.", detail: "", suggestion: "", request_id: "r" }, { status: 500 }), { once: true }));
    const { user } = await open();
    await user.click(await screen.findByRole("button", { name: "Try again" }));
    expect(await track()).toBeInTheDocument();
  });
});
