import { act, screen } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LiveProvider } from "@/app/live-provider";
import { EventsPage } from "@/features/events/events-page";
import { eventsSearch } from "@/features/events/events-search";
import { addressOf } from "@/features/events/subject-link";
import { FakeSocket } from "@/test/fake-socket";
import { makeMe } from "@/test/make";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";

const happened = (over = {}) => ({
  id: "evt_1",
  at: new Date(Date.now() - 60_000).toISOString(),
  kind: "reservation.active",
  subject: "rsv_1",
  subject_name: "nightly run",
  actor: `user:${makeMe().user}`,
  reason: "",
  severity: "info" as const,
  data: {},
  ...over,
});

const Live = () => (
  <LiveProvider>
    <EventsPage />
  </LiveProvider>
);

beforeEach(() => {
  FakeSocket.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
});

describe("events", () => {
  it("tell what, of what, by whom, and lead there", async () => {
    serve("get", "/events", pageOf([happened(), happened({ id: "evt_2", kind: "lease.lost", severity: "error", actor: "system:allocator" })]));
    const { user, router } = await renderPage(EventsPage, { at: "/events" });
    expect(await screen.findByText("Reservation: Active")).toBeInTheDocument();
    expect(screen.getByText("Lease: Lost")).toBeInTheDocument();
    expect(screen.getByText("the market")).toBeInTheDocument();
    await user.click(screen.getAllByRole("link", { name: "nightly run" })[0] as HTMLElement);
    await vi.waitFor(() => expect(router.state.location.pathname).toBe("/reservations/rsv_1"));
  });

  it("are filtered by the server, and the filter is in the address", async () => {
    const calls = serve("get", "/events", pageOf([]));
    const { user, router } = await renderPage(EventsPage, { at: "/events?subject=rsv_9" });
    await user.selectOptions(await screen.findByRole("combobox", { name: "What" }), "invoice");
    await vi.waitFor(() => expect(calls.at(-1)?.url.search).toContain("kind=invoice"));
    expect(calls.at(-1)?.url.search).toContain("subject=rsv_9");
    expect(router.state.location.search).toEqual({ subject: "rsv_9", kind: "invoice" });
    expect(await screen.findByText("No such event")).toBeInTheDocument();
  });

  it("come in as they happen", async () => {
    const calls = serve("get", "/events", () => pageOf([happened({ id: `evt_${calls.length}` })]));
    serve("post", "/live-tickets", { ticket: "t", url: "ws://localhost/live", expires_at: "" }, 201);
    await renderPage(Live, { at: "/events" });
    await screen.findByText("Reservation: Active");
    await vi.waitFor(() => FakeSocket.last());
    act(() => FakeSocket.last().welcome());
    act(() => FakeSocket.last().say({ type: "delta", topic: "events", seq: "1", data: {} }));
    await vi.waitFor(() => expect(calls).toHaveLength(2));
    expect(screen.getByText("Live")).toBeInTheDocument();
  });

  it("say what to do when nothing has happened, and why they could not be had", async () => {
    serve("get", "/events", pageOf([]));
    const { unmount } = await renderPage(EventsPage, { at: "/events" });
    expect(await screen.findByText("Nothing has happened yet")).toBeInTheDocument();
    unmount();
    refuse("get", "/events", 403, { code: "forbidden", detail: "This needs the scope reservation:read." });
    await renderPage(EventsPage, { at: "/events" });
    expect(await screen.findByRole("alert")).toHaveTextContent("reservation:read");
  });

  it.each([
    [{ subject: "lse_1", data: { reservation: "rsv_2" } }, "/reservations/rsv_2"],
    [{ subject: "lse_1" }, null],
    [{ subject: "nod_1" }, "/nodes/nod_1"],
    [{ subject: "tok_1" }, "/access"],
  ])("%j leads to %s", (over, address) => expect(addressOf(happened(over))).toBe(address));

  it("take only texts from an address", () => {
    expect(eventsSearch({ kind: "lease", subject: 5, q: " " })).toEqual({ kind: "lease" });
  });
});
