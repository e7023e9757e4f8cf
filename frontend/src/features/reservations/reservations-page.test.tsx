import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ReservationsPage } from "@/features/reservations/reservations-page";
import { LiveContext } from "@/hooks/live-context";
import { LiveClient } from "@/lib/live";
import { FakeSocket } from "@/test/fake-socket";
import { makeMe, PROJECT } from "@/test/make";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";
import { makeReservation } from "@/test/reservations";

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => makeReservation({ id: `rsv_${from + index}`, name: `slice ${from + index}` }));

const draw = (at = "/reservations") => renderPage(() => <ReservationsPage />, { at });

describe("the list of reservations", () => {
  beforeEach(() => {
    FakeSocket.all = [];
    vi.stubGlobal("WebSocket", FakeSocket);
  });

  it("asks the server for what the address says", async () => {
    const calls = serve("get", "/reservations", pageOf(numbered(1, 2)));
    await draw("/reservations?state=live&q=slice&sort=name");
    await screen.findByText("slice 1");
    const query = calls[0]?.url.searchParams;
    expect([query?.getAll("state"), query?.get("q"), query?.get("sort")]).toEqual([["live"], "slice", "name"]);
  });

  it("filters by state, and keeps it in the address", async () => {
    const calls = serve("get", "/reservations", pageOf(numbered(1, 1)));
    const { user, router } = await draw();
    await screen.findByText("slice 1");
    await user.click(screen.getByRole("combobox", { name: "State" }));
    await user.click(await screen.findByRole("option", { name: "Failed", hidden: true }));
    await waitFor(() => expect(calls.at(-1)?.url.searchParams.getAll("state")).toEqual(["failed"]));
    expect(router.state.location.search).toMatchObject({ state: "failed" });
  });

  it("reads the next rows with the cursor", async () => {
    const calls = serve("get", "/reservations", ({ url }) =>
      url.searchParams.has("cursor") ? pageOf(numbered(3, 1)) : pageOf(numbered(1, 2), "more"));
    const { user } = await draw();
    await screen.findByText("slice 1");
    expect(screen.getByText("2 read so far")).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Show more" }));
    expect(await screen.findByText("slice 3")).toBeInTheDocument();
    expect(calls.at(-1)?.url.searchParams.get("cursor")).toBe("more");
    expect(screen.getByText("3 reservations")).toBeInTheDocument();
  });

  it("opens a row with the keyboard", async () => {
    serve("get", "/reservations", pageOf(numbered(1, 3)));
    const { user, router } = await draw();
    await screen.findByText("slice 1");
    const rows = within(screen.getByRole("grid")).getAllByRole("row").slice(1);
    act(() => rows[0]?.focus());
    await user.keyboard("{ArrowDown}{Enter}");
    await waitFor(() => expect(router.state.location.pathname).toBe("/reservations/rsv_2"));
  });

  it("says the next step when there is nothing, and another when nothing matches", async () => {
    serve("get", "/reservations", pageOf([]));
    const first = await draw();
    expect(await screen.findByText("No reservations yet")).toBeInTheDocument();
    first.unmount();
    const { user, router } = await draw("/reservations?state=failed");
    await user.click(await screen.findByRole("button", { name: "Clear the filters" }));
    await waitFor(() => expect(router.state.location.search).toEqual({}));
  });

  it("shows a name of 200 characters and one from right to left whole to whoever points at it", async () => {
    const long = "x".repeat(200);
    serve("get", "/reservations", pageOf([makeReservation({ name: long }), makeReservation({ id: "rsv_2", name: "تدريب" })]));
    await draw();
    expect(await screen.findByTitle(long)).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "تدريب" })).toBeInTheDocument();
  });

  it("says why the list could not be read", async () => {
    refuse("get", "/reservations", 503, { code: "unavailable", title: "The database is away" });
    await draw();
    expect(await screen.findByRole("alert")).toHaveTextContent("The database is away");
  });

  it("reads a row anew as it changes, and tells of those that it does not show", async () => {
    serve("get", "/reservations", pageOf(numbered(1, 1)));
    serve("get", "/reservations/rsv_1", makeReservation({ id: "rsv_1", name: "slice 1", state: "completed" }));
    const client = new LiveClient({ ticket: () => Promise.resolve({ ticket: "t", url: "ws://x" }), onSessionEnd: vi.fn(), onRightsChanged: vi.fn() });
    client.start();
    await renderPage(() => <LiveContext value={client}><ReservationsPage /></LiveContext>, { at: "/reservations", me: makeMe({ projects: [PROJECT] }) });
    await screen.findByText("slice 1");
    act(() => FakeSocket.last().welcome());
    const say = (reservation: string) => act(() => FakeSocket.last().say({ type: "delta", topic: "reservations", seq: "1", data: { reservation } }));
    say("rsv_1");
    expect(await screen.findByText("Completed")).toBeInTheDocument();
    say("rsv_9");
    expect(await screen.findByRole("button", { name: /1 reservation that is not shown/ })).toBeInTheDocument();
    client.close();
  });
});
