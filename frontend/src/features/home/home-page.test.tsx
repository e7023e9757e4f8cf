import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { HomePage } from "@/features/home/home-page";
import { choiceOf } from "@/features/home/last-choice";
import type { Reservation } from "@/lib/reservation";
import { makeMe } from "@/test/make";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";
import { inSeconds, makeChangeQuote, makeLease, makeQueued, makeReservation } from "@/test/reservations";

const figures = { amount: "12.3400", amount_used: "10.0000", amount_idle: "2.0000", amount_unread: "0.0000", amount_reserved: "0.3400", quality: "estimated" };
const quota = { tenant: makeMe().tenant.id, project: null, nominal_permille: 8000, nominal_mib: 8192, max_reservations: 200, in_use: { share_permille: 250, memory_mib: 1024, reservations: 1 } };

function serveAll(reservations: Reservation[], last: Reservation | null = reservations[0] ?? null) {
  serve("get", "/reservations", ({ url }) => pageOf(url.searchParams.get("limit") === "1" ? (last ? [last] : []) : reservations));
  serve("get", "/quotas", pageOf([quota]));
  serve("get", "/account", { zone: "Europe/Berlin" });
  serve("get", "/costs", { currency: "EUR", total: figures, items: [] });
  serve("get", "/events", pageOf([{ id: "evt_1", at: inSeconds(-60), kind: "reservation.active", subject: "rsv_1", subject_name: "nightly training", actor: "system", reason: "", severity: "info", data: {} }]));
}

describe("home", () => {
  it("shows what runs, what is next, the month and the quota", async () => {
    const ahead = makeReservation({ id: "rsv_2", name: "tomorrow", state: "confirmed", starts_at: inSeconds(90_000), lease: makeLease({ state: "held", ready_at: null }) });
    serveAll([makeReservation(), ahead, makeQueued({ id: "rsv_3", name: "waits" })]);
    await renderPage(() => <HomePage />);
    const slices = await screen.findByRole("region", { name: "Your slices" });
    expect(within(slices).getAllByRole("link").map((link) => link.textContent)).toEqual(["nightly training"]);
    const next = screen.getByRole("region", { name: "Next" });
    expect(next).toHaveTextContent("tomorrow");
    expect(next).toHaveTextContent("in line, place 1–3");
    expect(await screen.findByText("12.34 EUR")).toBeInTheDocument();
    expect(await screen.findByText("0.25 of 8 devices")).toBeInTheDocument();
    const events = screen.getByRole("region", { name: "Newest events" });
    expect(await within(events).findByText("nightly training")).toBeInTheDocument();
  });

  it("draws what nobody has read as unknown, not as empty", async () => {
    serveAll([makeReservation()]);
    await renderPage(() => <HomePage />);
    expect(await screen.findByRole("img", { name: "Memory: n/a" })).toBeInTheDocument();
  });

  it("repeats the last choice with one click", async () => {
    serveAll([], makeReservation({ state: "completed", name: "again" }));
    await renderPage(() => <HomePage />);
    const link = await screen.findByRole("link", { name: /Repeat the last/ });
    expect(link).toHaveAttribute("href", expect.stringMatching(/\/reserve\?.*memory_mib=1024.*share_permille=250/));
    expect(link).toHaveAttribute("href", expect.stringContaining("for_s=7200"));
  });

  it("extends a slice from its card", async () => {
    serveAll([makeReservation()]);
    serve("post", "/reservations/:id/extend-quote", makeChangeQuote());
    const calls = serve("post", "/reservations/:id/extend", makeReservation({ ends_at: inSeconds(9000) }));
    const { user } = await renderPage(() => <HomePage />);
    await user.click(await screen.findByRole("button", { name: "Extend nightly training" }));
    const dialog = await screen.findByRole("dialog");
    const button = await within(dialog).findByRole("button", { name: /^Extend until/ });
    await waitFor(() => expect(button).toBeEnabled());
    await user.click(button);
    await waitFor(() => expect(calls).toHaveLength(1));
  });

  it("leads a newcomer in three steps to a running slice", async () => {
    serveAll([]);
    await renderPage(() => <HomePage />);
    const steps = within(await screen.findByRole("region", { name: /three steps/ })).getAllByRole("listitem");
    expect(steps).toHaveLength(3);
    expect(steps[1]).toHaveTextContent("vxpu login --server http://localhost");
  });

  it("keeps the rest of the page when one part fails", async () => {
    serveAll([makeReservation()]);
    refuse("get", "/events", 503, { code: "unavailable", title: "The feed is away" });
    await renderPage(() => <HomePage />);
    expect(await screen.findByText("The feed is away")).toBeInTheDocument();
    expect(await screen.findByText("nightly training")).toBeInTheDocument();
  });
});

describe("the last choice", () => {
  it("keeps an open end open, and names nothing that was not chosen", () => {
    // "Any kind" is null, which the schema's type does not know.
    expect(choiceOf(makeReservation({ ends_at: null, name: "", device_kind: null as never }))).toEqual({
      memory_mib: 1024,
      share_permille: 250,
      open_ended: true,
    });
  });
});
