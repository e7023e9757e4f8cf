import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LeasePage } from "@/features/lease/lease-page";
import { LiveContext } from "@/hooks/live-context";
import { noteServerDate } from "@/lib/clock";
import { LiveClient } from "@/lib/live";
import type { Reservation } from "@/lib/reservation";
import { FakeSocket } from "@/test/fake-socket";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";
import { DEVICE, inSeconds, LEASE, makeChangeQuote, makeLease, makeQueued, makeReservation, makeSample, makeUsage, makeWindow, RESERVATION } from "@/test/reservations";

// happy-dom has no canvas: what is drawn is looked at in a browser.
vi.mock("uplot", () => ({ default: class { setData() { /* nothing to draw on */ } setSize() { /* the same */ } destroy() { /* the same */ } } }));

const device = { id: DEVICE, node: "nod_1", model: "Ada 6000", capacity_mib: 4096, capacity_permille: 1000, isolation_detail: "cgroup v2", node_hostname: "gpu-1" };

async function open(reservation: Reservation, windows = [makeWindow()]) {
  let now = reservation;
  serve("get", `/reservations/${RESERVATION}`, () => now);
  serve("get", `/reservations/${RESERVATION}/events`, pageOf([{ version: 1, from_state: "", to_state: "confirmed", actor: "system:marketplace", reason: "booked", at: inSeconds(-1900) }]));
  serve("get", `/devices/${DEVICE}`, device);
  serve("get", `/leases/${LEASE}/usage`, makeUsage(windows));
  const client = new LiveClient({ ticket: () => Promise.resolve({ ticket: "t", url: "ws://x" }), onSessionEnd: vi.fn(), onRightsChanged: vi.fn() });
  client.start();
  const Live = () => (
    <LiveContext value={client}>
      <LeasePage />
    </LiveContext>
  );
  const view = await renderPage(Live, { at: `/reservations/${RESERVATION}`, path: "/reservations/$id" });
  await screen.findByRole("heading", { level: 1, name: reservation.name || /GiB/ });
  /** What the server holds from now on, and answers. */
  const become = (next: Reservation) => (now = next);
  return { ...view, become };
}

async function connect() {
  await waitFor(() => expect(FakeSocket.all).not.toHaveLength(0));
  act(() => FakeSocket.last().welcome());
  const say = (sample: object) => act(() => FakeSocket.last().say({ type: "metrics", topic: `lease/${LEASE}/metrics`, at: "", data: sample }));
  return { socket: FakeSocket.last(), say };
}

beforeEach(() => {
  FakeSocket.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
});

describe("a slice that runs", () => {
  it("shows what the node says, and n/a with the reason where it says nothing", async () => {
    await open(makeReservation());
    const { say } = await connect();
    say(makeSample());
    const memory = await screen.findByRole("img", { name: /Memory, the last five minutes: 512.MiB now, limit 1.GiB/ });
    expect(memory).toBeInTheDocument();
    expect(screen.getByText("23 %")).toBeInTheDocument();
    expect(screen.getByText("This device does not report power for a slice.")).toBeInTheDocument();
    expect(screen.getByText("2 processes")).toBeInTheDocument();
  });

  it("says that the line is lost, and that what is shown is old", async () => {
    await open(makeReservation());
    const { socket, say } = await connect();
    say(makeSample());
    act(() => socket.hangUp(1006));
    expect(await screen.findByText(/No live connection: what you see is old/)).toBeInTheDocument();
    expect(screen.getAllByText(/^Old value/).length).toBeGreaterThan(1);
  });

  it("adds the time since the server's figure, and says that it is an estimate", async () => {
    await open(makeReservation({ cost_so_far: { amount: "1.0000", currency: "EUR", as_of: inSeconds(-3600), quality: "estimated" } }));
    expect(await screen.findByText(/^1\.375\d? EUR$/)).toBeInTheDocument();
    expect(screen.getByText("estimated")).toBeInTheDocument();
  });

  it("counts to the end by the server's clock, whatever the clock here says", async () => {
    // This machine is an hour behind.
    noteServerDate(new Date(Date.now() + 3_600_000).toUTCString(), Date.now(), Date.now());
    await open(makeReservation({ ends_at: inSeconds(3600 + 300), starts_at: inSeconds(0) }));
    expect(screen.getByRole("timer")).toHaveTextContent(/^(5:01|5:00|4:59|4:58)$/);
    expect(screen.getByText(/Programs are stopped then/)).toBeInTheDocument();
  });
});

describe("changing it", () => {
  it("is renamed in place, in any script, and shows what the server made of it", async () => {
    const { user, become } = await open(makeReservation());
    const calls = serve("patch", `/reservations/${RESERVATION}`, ({ body }) => become(makeReservation(body as { name: string })));
    await user.click(screen.getByRole("button", { name: "Rename" }));
    const field = screen.getByLabelText("Name");
    expect(field).toHaveAttribute("maxlength", "200");
    await user.clear(field);
    await user.type(field, "تدريب ليلي{Enter}");
    expect(await screen.findByRole("heading", { level: 1, name: "تدريب ليلي" })).toHaveAttribute("dir", "auto");
    expect(calls[0]?.body).toEqual({ name: "تدريب ليلي" });
  });

  it("shows the price of another size before it is taken", async () => {
    const { user } = await open(makeReservation());
    const quotes = serve("post", `/reservations/${RESERVATION}/resize-quote`, makeChangeQuote());
    const resizes = serve("post", `/reservations/${RESERVATION}/resize`, makeReservation({ slice: { memory_mib: 1024, share_permille: 500 } }));
    await user.click(await screen.findByRole("button", { name: "Resize" }));
    const dialog = await screen.findByRole("dialog");
    const share = within(dialog).getByLabelText("Compute in % of the device");
    await user.clear(share);
    await user.type(share, "50");
    expect(await within(dialog).findByText("+0.375 EUR")).toBeInTheDocument();
    expect(quotes.at(-1)?.body).toEqual({ slice: { memory_mib: 1024, share_permille: 500 } });
    await user.click(within(dialog).getByRole("button", { name: /^Resize to/ }));
    await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
    expect(resizes).toHaveLength(1);
    expect(resizes[0]?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("says why another size does not fit and takes the nearest that does", async () => {
    const { user } = await open(makeReservation());
    const refusal = { code: "no_capacity", detail: "Devices ruled out.", suggestion: "", constraints: { memory: 1 }, next_free_at: null, nearest: [{ memory_mib: 2048, share_permille: 250 }], alternatives: [] };
    const quotes = serve("post", `/reservations/${RESERVATION}/resize-quote`, ({ body }) =>
      (body as { slice: { memory_mib: number } }).slice.memory_mib > 2048 ? makeChangeQuote({ fits: false, refusal }) : makeChangeQuote());
    await user.click(await screen.findByRole("button", { name: "Resize" }));
    const dialog = await screen.findByRole("dialog");
    const memory = within(dialog).getByLabelText("Memory in MiB");
    await user.clear(memory);
    await user.type(memory, "4000");
    expect(await within(dialog).findByText(/not enough free memory \(1 device\)/)).toBeInTheDocument();
    expect(within(dialog).getByRole("button", { name: /^Resize to/ })).toBeDisabled();
    await user.click(within(dialog).getByRole("button", { name: /^2.GiB . 25.%$/ }));
    await waitFor(() => expect(quotes.at(-1)?.body).toEqual({ slice: { memory_mib: 2048, share_permille: 250 } }));
    await waitFor(() => expect(within(dialog).getByRole("button", { name: /^Resize to/ })).toBeEnabled());
  });

  it("is extended by an hour, with what that costs", async () => {
    const reservation = makeReservation();
    const { user } = await open(reservation);
    serve("post", `/reservations/${RESERVATION}/extend-quote`, makeChangeQuote({ amount_per_hour_after: "0.3750", amount_total_after: "0.94" }));
    const calls = serve("post", `/reservations/${RESERVATION}/extend`, ({ body }) => makeReservation({ ends_at: (body as { ends_at: string }).ends_at }));
    await user.click(screen.getByRole("button", { name: "Extend" }));
    const dialog = await screen.findByRole("dialog");
    expect(await within(dialog).findByText("0.38 EUR")).toBeInTheDocument();
    await user.click(within(dialog).getByRole("button", { name: /^Extend until/ }));
    await waitFor(() => expect(calls).toHaveLength(1));
    const asked = Date.parse((calls[0]?.body as { ends_at: string }).ends_at);
    expect(asked - Date.parse(reservation.ends_at ?? "")).toBe(3_600_000);
  });

  it("asks before it is released: the name, what is lost, what is billed", async () => {
    const { user, become } = await open(makeReservation());
    const calls = serve("post", `/reservations/${RESERVATION}/release`, () => become(makeReservation({ state: "ending", released_at: inSeconds(0) })));
    await user.click(screen.getByRole("button", { name: "Release" }));
    const dialog = await screen.findByRole("dialog", { name: /nightly training/ });
    expect(dialog).toHaveTextContent(/in \/tmp or in \/home\/slice is lost/);
    expect(dialog).toHaveTextContent(/0\.1875 EUR until now \(estimated\)/);
    expect(dialog).toHaveTextContent(/as reserved and not delivered/);
    await user.click(within(dialog).getByRole("button", { name: "Release" }));
    await waitFor(() => expect(calls).toHaveLength(1));
    expect(await screen.findByText(/Programs were told to stop/)).toBeInTheDocument();
  });

  it("keeps the dialog with the server's reason when it is refused", async () => {
    const { user } = await open(makeReservation());
    refuse("post", `/reservations/${RESERVATION}/release`, 503, { code: "unavailable", title: "The database is away", suggestion: "Try again." });
    await user.click(screen.getByRole("button", { name: "Release" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Release" }));
    expect(await within(dialog).findByText("The database is away")).toBeInTheDocument();
  });
});

describe("other states", () => {
  it("tells who waits the place, the reason and what would start sooner", async () => {
    const way = { kind: "smaller", starts_at: inSeconds(0), ends_at: null, device: DEVICE, slice: { memory_mib: 512, share_permille: 125 } };
    serve("post", "/quotes", { refusal: { alternatives: [way] } });
    await open(makeQueued());
    expect(screen.getByText("1 to 3")).toBeInTheDocument();
    expect(screen.getByText("not enough free memory")).toBeInTheDocument();
    expect(screen.getByText(/nobody has booked an end/)).toBeInTheDocument();
    const link = await screen.findByRole("link", { name: /^512.MiB . 12.5.% would fit now$/ });
    expect(link).toHaveAttribute("href", expect.stringContaining("memory_mib=512"));
  });

  it("tells the start as a range, and when a wish whose tries failed gets the next one", async () => {
    serve("post", "/quotes", { refusal: null });
    const queue = {
      best: 1, worst: 1, waits_for: "activation_failed", attempts: 2, next_try_at: inSeconds(19.5),
      estimated_start_at: inSeconds(3 * 3600 + 30), estimated_start_by: inSeconds(9 * 3600 + 30),
    };
    await open(makeQueued({ queue }));
    expect(screen.getByText("the next try: the slice failed to start")).toBeInTheDocument();
    expect(screen.getByText("Estimated start").nextSibling).toHaveTextContent(/^in 3/);
    expect(screen.getByText("In nine of ten cases by").nextSibling).toHaveTextContent(/^in 9/);
    expect(screen.getByText("Next try").nextSibling).toHaveTextContent(/2 tries failed/);
  });

  it("says why it failed and what to do next", async () => {
    await open(makeReservation({ state: "failed", end_reason: "node lost", ended_at: inSeconds(-60), lease: makeLease({ state: "lost", ended_at: inSeconds(-60) }) }));
    expect(screen.getByText(/Reason: the node was lost/)).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "Reserve the same again" })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Release" })).not.toBeInTheDocument();
  });

  it("explains a node that does not answer", async () => {
    await open(makeReservation({ lease: makeLease({ state: "unreachable" }) }));
    const alerts = screen.getAllByRole("alert").map((alert) => alert.textContent);
    expect(alerts).toContainEqual(expect.stringContaining("The node does not answer"));
  });

  it("takes an earlier start that is offered", async () => {
    const booked = makeReservation({ state: "confirmed", starts_at: inSeconds(7200), earlier_start_at: inSeconds(60), lease: makeLease({ state: "held", ready_at: null }) });
    const { user } = await open(booked);
    const calls = serve("post", `/reservations/${RESERVATION}/start-earlier`, makeReservation());
    await user.click(screen.getByRole("button", { name: /^Start / }));
    await waitFor(() => expect(calls).toHaveLength(1));
  });

  it("says that there is no such slice", async () => {
    refuse("get", `/reservations/${RESERVATION}`, 404, { code: "not_found" });
    await renderPage(() => <LeasePage />, { at: `/reservations/${RESERVATION}`, path: "/reservations/$id" });
    expect(await screen.findByText("There is no such slice")).toBeInTheDocument();
  });

  it("explains slowness and offers the size that helps", async () => {
    const { user } = await open(makeReservation(), [makeWindow({ throttled_ms: 30_000 })]);
    serve("post", `/reservations/${RESERVATION}/resize-quote`, makeChangeQuote());
    expect(await screen.findByText(/held back 50 % of the time/)).toBeInTheDocument();
    await user.click(await screen.findByRole("button", { name: /^Resize to 1.GiB . 37.5.%$/ }));
    expect(await screen.findByRole("dialog")).toHaveTextContent("37.5 %");
  });
});
