import { act, screen, waitFor, within } from "@testing-library/react";
import { HttpResponse } from "msw";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { ReservePage } from "@/features/reserve/reserve-page";
import { serverOffset } from "@/lib/clock";
import { makeMe } from "@/test/make";
import { makeDevice, makeOffer, makeQuote, makeRefusal } from "@/test/make-shelf";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";

// Many controls and real waits: more than the usual patience on a loaded machine.
vi.setConfig({ testTimeout: 60_000 });

const OWN = "/reserve?memory_mib=4096&share_permille=250&device_kind=opencl";
const open = (me = makeMe()) => renderPage(ReservePage, { at: OWN, path: "/reserve", me });
const reserve = () => screen.getByRole("button", { name: "Reserve" });
const ready = () => waitFor(() => expect(reserve()).toHaveAttribute("aria-disabled", "false"));
const quotes = (over: () => Parameters<typeof makeQuote>[0] = () => ({})) => serve("post", "/quotes", () => makeQuote(over()) as never, 201);

beforeEach(() => {
  serve("get", "/offers", pageOf([makeOffer()]));
  serve("get", "/devices", pageOf([makeDevice()]));
  serve("get", "/account", {});
});

describe("buying", () => {
  test("one click buys the quote and opens the lease's page", async () => {
    quotes();
    const bought = serve("post", "/reservations", { id: "rsv_1" }, 201);
    const { user, router } = await open();
    await ready();
    await user.click(reserve());
    await waitFor(() => expect(router.state.location.pathname).toBe("/reservations/rsv_1"));
    expect(bought[0]?.body).toMatchObject({ quote: expect.stringMatching(/^quo_/) });
    expect(bought[0]?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("the keyboard alone reserves", async () => {
    quotes();
    const bought = serve("post", "/reservations", { id: "rsv_1" }, 201);
    const { user } = await open();
    await ready();
    for (let step = 0; step < 40 && document.activeElement !== reserve(); step += 1) await user.tab();
    expect(reserve()).toHaveFocus();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(bought).toHaveLength(1));
  });

  test("taken while looking: the reasons and what fits, in place, and nothing was bought", async () => {
    let taken = false;
    quotes(() => (taken ? { fits: false, refusal: makeRefusal({ nearest: [{ memory_mib: 2048, share_permille: 125 }] }) } : {}));
    serve("post", "/reservations", () => {
      taken = true;
      const document = { code: "no_capacity", title: "No room", detail: "", suggestion: "", request_id: "r", constraints: { memory: 1 } };
      return HttpResponse.json(document, { status: 409, headers: { "Content-Type": "application/problem+json" } });
    });
    const { user } = await open();
    await ready();
    await user.click(reserve());
    expect(await screen.findByText("It was taken while you looked")).toBeVisible();
    expect(await screen.findByRole("button", { name: /2.GiB \+ 12.5.%/ })).toBeVisible();
    expect(screen.getByText("1 device has too little free memory")).toBeVisible();
  });

  test("a network that is lost is asked again with the same key, and nothing can be changed meanwhile", async () => {
    quotes();
    let isBack = false;
    const calls = serve("post", "/reservations", () =>
      isBack ? HttpResponse.json({ id: "rsv_9" }, { status: 201 }) : HttpResponse.error(),
    );
    const { user, router } = await open();
    await ready();
    await user.click(reserve());
    expect(await screen.findByText(/No clear answer/)).toBeVisible();
    expect(screen.getByRole("textbox", { name: "Name" })).toBeDisabled();
    isBack = true;
    await user.click(screen.getByRole("button", { name: "Ask again now" }));
    await waitFor(() => expect(router.state.location.pathname).toBe("/reservations/rsv_9"));
    expect(new Set(calls.map((call) => call.headers.get("Idempotency-Key"))).size).toBe(1);
  });

  test("a quote that was used already leads to what was bought", async () => {
    quotes();
    refuse("post", "/reservations", 409, { code: "quote_used", reservation: "rsv_5" });
    const { user } = await open();
    await ready();
    await user.click(reserve());
    expect(await screen.findByRole("link", { name: "Open the reservation" })).toHaveAttribute("href", "/reservations/rsv_5");
  });

  test("nothing fits now: the queue is one click away", async () => {
    quotes(() => ({ fits: false, refusal: makeRefusal() }));
    const queued = serve("post", "/reservations", { id: "rsv_2" }, 202);
    const { user, router } = await open();
    await user.click(await screen.findByRole("button", { name: "Wait in the queue instead" }));
    await waitFor(() => expect(router.state.location.pathname).toBe("/reservations/rsv_2"));
    expect(queued[0]?.body).toMatchObject({ queue: true, slice: { memory_mib: 4096, share_permille: 250 } });
  });

  test("who may only look is told so", async () => {
    quotes();
    await open(makeMe({ scopes: ["reservation:read"] }));
    expect(await screen.findByText(/may look but not buy/)).toBeVisible();
    expect(reserve()).toHaveAttribute("aria-disabled", "true");
  });
});

describe("the held price", () => {
  test("a hold that ends is renewed, and a changed price is shown old and new before it is bought", async () => {
    let n = 0;
    quotes(() => {
      n += 1;
      const now = Date.now();
      return n === 1 ? { expires_at: new Date(now + 400).toISOString() } : { amount_per_hour: "0.5000", created_at: new Date(now + 400).toISOString() };
    });
    await open();
    expect(await screen.findByText("The price changed while you looked")).toBeVisible();
    expect(screen.getByText("0.375 EUR", { selector: "s" })).toBeVisible();
    expect(screen.getByText("0.50 EUR", { selector: "strong" })).toBeVisible();
    expect(screen.getByRole("button", { name: "Reserve at the new price" })).toHaveAttribute("aria-disabled", "false");
  });

  test("an expired quote at the purchase: said, renewed, and not bought", async () => {
    const asked = quotes();
    refuse("post", "/reservations", 409, { code: "quote_expired", now: null });
    const { user } = await open();
    await ready();
    await user.click(reserve());
    expect(await screen.findByText("The price hold ended before you bought")).toBeVisible();
    await waitFor(() => expect(asked.length).toBeGreaterThan(1));
    await ready();
  });

  test("a clock that is wrong by hours changes no countdown", async () => {
    const real = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => real + 3 * 3_600_000);
    const server = () => new Date(real).toUTCString();
    serve("post", "/quotes", () =>
      HttpResponse.json(
        makeQuote({ created_at: new Date(real).toISOString(), expires_at: new Date(real + 120_000).toISOString() }),
        { status: 201, headers: { Date: server() } },
      ),
    );
    await open();
    await ready();
    expect(Math.abs(serverOffset() + 3 * 3_600_000)).toBeLessThan(2_000);
    expect(await within(screen.getByRole("region", { name: "Quote" })).findByText(/Price held for [12]:[0-5]\d/)).toBeVisible();
    await act(async () => undefined);
  });
});
