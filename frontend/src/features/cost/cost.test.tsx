import { screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { CostPage } from "@/features/cost/cost-page";
import { costSearch } from "@/features/cost/cost-search";
import { CostTable } from "@/features/cost/cost-table";
import { DayChart } from "@/features/cost/day-chart";
import { InvoicesPanel } from "@/features/cost/invoices-panel";
import { periodOf } from "@/features/cost/period";
import { roundTop } from "@/features/cost/series";
import { Totals } from "@/features/cost/totals";
import type { CostFigures, CostItem, Costs } from "@/features/cost/use-costs";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";

const HOUR = 3_600_000;

function figures(over: Partial<CostFigures> = {}): CostFigures {
  return {
    amount: "1.5000",
    amount_used: "1.0000",
    amount_idle: "0.5000",
    amount_unread: "0.0000",
    amount_reserved: "0.0000",
    allocated_permille_s: 3 * HOUR,
    used_permille_s: 2 * HOUR,
    idle_permille_s: HOUR,
    unread_permille_s: 0,
    reserved_permille_s: 0,
    invoiced: "0.00",
    quality: "measured",
    ...over,
  };
}

const row = (key: string, label: string, over: Partial<CostFigures> = {}): CostItem => ({ ...figures(over), key, label });

function costs(items: CostItem[], over: Partial<Costs> = {}): Costs {
  return {
    from: "2026-11-01T00:00:00+01:00",
    to: "2026-12-01T00:00:00+01:00",
    zone: "Europe/Berlin",
    group: "project",
    currency: "EUR",
    as_of: "2026-11-29T12:00:00Z",
    quality: "measured",
    total: figures({ amount: "3.0000" }),
    items,
    ...over,
  };
}

describe("the days of a cost page", () => {
  const now = Date.parse("2026-10-25T12:00:00Z");
  const days = (search: Parameters<typeof periodOf>[0]) => {
    const { firstDay, lastDay } = periodOf(search, now, "Europe/Berlin");
    return [firstDay, lastDay];
  };

  it.each([
    [{}, ["2026-10-01", "2026-10-31"]],
    [{ range: "last_month" as const }, ["2026-09-01", "2026-09-30"]],
    [{ range: "7d" as const }, ["2026-10-19", "2026-10-25"]],
    [{ range: "custom" as const, from: "2026-02-27", to: "2026-03-02" }, ["2026-02-27", "2026-03-02"]],
    [{ range: "custom" as const, from: "2026-03-02", to: "2026-02-27" }, ["2026-10-01", "2026-10-31"]],
  ])("%j", (search, expected) => expect(days(search)).toEqual(expected));

  it("begin and end at the account's midnight, also where a day has 25 hours", () => {
    const period = periodOf({ range: "custom", from: "2026-10-25", to: "2026-10-25" }, now, "Europe/Berlin");
    expect([period.from, period.to]).toEqual(["2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"]);
  });

  it("take no nonsense from an address", () => {
    expect(costSearch({ group: "user", range: "decade", from: "2026-02-31", bars: "bytes" })).toEqual({});
  });
});

describe("costs on screen", () => {
  beforeEach(() => {
    serve("get", "/account", { zone: "Europe/Berlin" });
  });

  it("has the server's digits, and a total under its rows", async () => {
    const shown = costs([row("prj_1", "vision"), row("prj_2", "speech")]);
    await renderPage(() => <CostTable costs={shown} group="project" onDay={vi.fn()} />);
    const rows = screen.getAllByRole("row");
    expect(within(rows[1] as HTMLElement).getByText("1.50")).toBeInTheDocument();
    expect(within(rows.at(-1) as HTMLElement).getByText("Total")).toBeInTheDocument();
    expect(within(rows.at(-1) as HTMLElement).getByText("3.00")).toBeInTheDocument();
  });

  it("says n/a where a use cannot be read, never zero", async () => {
    const unread = { used_permille_s: null, idle_permille_s: null, amount_used: null, amount_idle: null, quality: "unavailable" as const };
    await renderPage(() => <CostTable costs={costs([row("prj_1", "vision", unread)])} group="project" onDay={vi.fn()} />);
    expect(within(screen.getAllByRole("row")[1] as HTMLElement).getAllByText("n/a")).toHaveLength(3);
  });

  it("leads from a reservation's row to the reservation", async () => {
    const { user, router } = await renderPage(
      () => <CostTable costs={costs([row("rsv_1", "nightly run")])} group="reservation" onDay={vi.fn()} />,
      { at: "/cost" },
    );
    await user.click(screen.getByRole("link", { name: "nightly run" }));
    await vi.waitFor(() => expect(router.state.location.pathname).toBe("/reservations/rsv_1"));
  });

  it("tells the whole, its parts, and until when", async () => {
    await renderPage(() => <Totals costs={costs([], { quality: "estimated" })} />);
    expect(screen.getByText(/estimated in part, until/)).toBeInTheDocument();
    expect(screen.getByText("66.7 % of the total")).toBeInTheDocument();
  });

  it("draws a bar for each day that was, none for a day to come", async () => {
    const days = ["2026-11-28", "2026-11-29", "2026-11-30"].map((day) => row(day, day));
    await renderPage(() => <DayChart costs={costs(days, { group: "day" })} measure="money" limit={null} onDay={vi.fn()} />);
    const chart = screen.getByRole("img", { name: /2026-11-28 to 2026-11-30 in EUR/ });
    expect(chart.querySelectorAll('rect[fill="var(--series-1)"]')).toHaveLength(2);
  });

  it.each([
    [0, 1],
    [0.007, 0.008],
    [7.3, 8],
    [100, 100],
    [101, 150],
  ])("rounds the top of an axis for %d to %d", (value, top) => expect(roundTop(value).top).toBeCloseTo(top));
});

describe("the cost page", () => {
  it("shows the period by project, and another group at a click, kept in the address", async () => {
    serve("get", "/account", { zone: "Europe/Berlin" });
    serve("get", "/quotas", pageOf([]));
    serve("get", "/invoices", pageOf([]));
    const calls = serve("get", "/costs", ({ url }) => {
      const group = url.searchParams.get("group") as Costs["group"];
      return costs([group === "day" ? row("2026-11-28", "2026-11-28") : row(`${group}_1`, `one ${group}`)], { group });
    });
    const { user, router } = await renderPage(CostPage, { at: "/cost" });
    expect(await screen.findByText("one project")).toBeInTheDocument();
    await user.click(screen.getByRole("radio", { name: "Class" }));
    expect(await screen.findByText("one class")).toBeInTheDocument();
    expect(router.state.location.search).toMatchObject({ group: "class" });
    expect(screen.getByRole("link", { name: /Download CSV/ }).getAttribute("href")).toContain("group=class");
    expect(calls.every((call) => (call.url.searchParams.get("from") ?? "") < (call.url.searchParams.get("to") ?? ""))).toBe(true);
  });

  it("says what to do without an account", async () => {
    serve("get", "/account", { zone: "UTC" });
    for (const path of ["/quotas", "/invoices"]) serve("get", path, pageOf([]));
    refuse("get", "/costs", 404, { code: "no_account" });
    await renderPage(CostPage, { at: "/cost" });
    expect(await screen.findByText("No account yet")).toBeInTheDocument();
  });
});

describe("invoices", () => {
  const invoice = {
    id: "inv_1",
    number: "2026-0001",
    state: "issued",
    currency: "EUR",
    total: "18.40",
    zone: "Europe/Berlin",
    starts_at: "2026-10-01T00:00:00+02:00",
    ends_at: "2026-11-01T00:00:00+01:00",
    issued_at: "2026-11-01T03:00:00Z",
    simulated: true,
  };

  it("are listed with their file, and what was simulated is said so", async () => {
    serve("get", "/invoices", pageOf([invoice]));
    serve("get", "/account", { zone: "Europe/Berlin" });
    await renderPage(InvoicesPanel);
    const link = await screen.findByRole("link", { name: "Download invoice 2026-0001 as CSV" });
    expect(link).toHaveAttribute("href", "/api/v1/invoices/inv_1/csv");
    expect(screen.getByText("Simulated")).toBeInTheDocument();
    expect(screen.getByText("18.40 EUR")).toBeInTheDocument();
  });

  it("say when there is none yet, and why they could not be had", async () => {
    serve("get", "/invoices", pageOf([]));
    const { unmount } = await renderPage(InvoicesPanel);
    expect(await screen.findByText("No invoice yet")).toBeInTheDocument();
    unmount();
    refuse("get", "/invoices", 403, { code: "forbidden", title: "Not allowed", detail: "Your token lacks billing:read." });
    await renderPage(InvoicesPanel);
    expect(await screen.findByRole("alert")).toHaveTextContent("Your token lacks billing:read.");
  });
});
