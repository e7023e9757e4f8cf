import { screen, waitFor, within } from "@testing-library/react";
import { delay, HttpResponse } from "msw";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { ReservePage } from "@/features/reserve/reserve-page";
import type { Schema } from "@/lib/api";
import { PROJECT, makeMe } from "@/test/make";
import { DEVICE, makeDevice, makeOffer, makeQuote, makeRefusal, OFFER } from "@/test/make-shelf";
import { pageOf, refuse, serve, type Call } from "@/test/network";
import { renderPage } from "@/test/render";

// Many controls and real waits: more than the usual patience on a loaded machine.
vi.setConfig({ testTimeout: 60_000 });

type Asked = Schema<"QuoteInRequest">;
const asked = (call: Call | undefined) => call?.body as Asked;
const quotePanel = () => screen.getByRole("region", { name: "Quote" });
const slider = (name: string) => screen.getByRole("slider", { name });

/** A server that quotes what it is asked, at one price a permille. */
function quoting(answer: (asked: Asked, n: number) => Partial<Schema<"Quote">> = () => ({})): Call[] {
  let n = 0;
  return serve(
    "post",
    "/quotes",
    (call) => {
      n += 1;
      const { slice } = asked(call);
      return makeQuote({ ...(slice ? { slice } : {}), ...answer(asked(call), n) }) as never;
    },
    201,
  );
}

beforeEach(() => {
  serve("get", "/offers", pageOf([makeOffer()]));
  serve("get", "/devices", pageOf([makeDevice()]));
  serve("get", "/account", {});
});

const open = (at = "/reserve", me = makeMe()) => renderPage(ReservePage, { at, path: "/reserve", me });
const OWN = "/reserve?memory_mib=4096&share_permille=250&device_kind=opencl";
const ready = () => waitFor(() => expect(screen.getByRole("button", { name: "Reserve" })).toHaveAttribute("aria-disabled", "false"));

describe("choosing", () => {
  test("the usual size is quoted at once, with all that a buyer must know", async () => {
    const quotes = quoting();
    await open();
    await ready();
    expect(asked(quotes[0])).toMatchObject({ offer: OFFER, project: PROJECT.id, starts_at: null });
    const panel = within(quotePanel());
    expect(panel.getByText("0.375 EUR")).toBeVisible();
    expect(panel.getByText(/Enforced limits/)).toBeVisible();
    expect(panel.getByText(/128.GiB, 800.% of a device, 200 reservations/)).toBeVisible();
    expect(panel.getByText("None")).toBeVisible();
    expect(panel.getByText(/Price held for [12]:\d\d/)).toBeVisible();
    await waitFor(() => expect(panel.getByText(/vxpu reserve create --offer/)).toBeInTheDocument());
  });

  test("keys move both halves together, one quote follows them, and the address carries the choice", async () => {
    const quotes = quoting();
    const { user, router } = await open(OWN);
    await ready();
    slider("Memory").focus();
    await user.keyboard("{PageUp}");
    expect(slider("Compute")).toHaveAttribute("aria-valuenow", "500");
    await user.keyboard("{ArrowRight}{ArrowRight}{End}");
    expect(slider("Memory")).toHaveAttribute("aria-valuetext", "16\u00a0GiB");
    expect(screen.getByRole("button", { name: "Reserve" })).toHaveAttribute("aria-disabled", "true");
    await waitFor(() => expect(asked(quotes.at(-1)).slice).toEqual({ memory_mib: 16_384, share_permille: 1000 }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ memory_mib: 16_384, share_permille: 1000 }));
    await ready();
    expect(quotes.length).toBeLessThanOrEqual(4);
  });

  test("let apart, one half moves alone, and what would cost nothing more is offered", async () => {
    quoting();
    const { user } = await open(OWN);
    await ready();
    await user.click(screen.getByRole("checkbox", { name: /in proportion/ }));
    slider("Memory").focus();
    await user.keyboard("{PageUp}");
    expect(slider("Compute")).toHaveAttribute("aria-valuenow", "250");
    await user.click(screen.getByRole("button", { name: "Take it" }));
    expect(slider("Compute")).toHaveAttribute("aria-valuenow", "500");
  });

  test("a number can be typed, and a link with a size of its own keeps it", async () => {
    const quotes = quoting();
    const { user } = await open("/reserve?memory_mib=1024&share_permille=900&device_kind=opencl");
    await ready();
    expect(screen.getByRole("checkbox", { name: /in proportion/ })).not.toBeChecked();
    const field = screen.getByRole("textbox", { name: "Memory in GiB" });
    await user.clear(field);
    await user.type(field, "2.5");
    await waitFor(() => expect(asked(quotes.at(-1)).slice).toEqual({ memory_mib: 2560, share_permille: 900 }));
  });

  test("a time, a length, and a link to send", async () => {
    const quotes = quoting();
    const { user, router } = await open(`${OWN}&starts_at=2030-01-15T13:00:00Z`);
    await user.click(await screen.findByRole("button", { name: /^8.h$/ }));
    await waitFor(() => expect(asked(quotes.at(-1))).toMatchObject({ starts_at: "2030-01-15T13:00:00Z", ends_at: "2030-01-15T21:00:00Z" }));
    await user.click(screen.getByRole("button", { name: "No end" }));
    await waitFor(() => expect(asked(quotes.at(-1)).ends_at).toBeNull());
    await waitFor(() => expect(router.state.location.search).toMatchObject({ open_ended: true }));
  });

  test("a link that is not understood says so and still works", async () => {
    quoting();
    await open("/reserve?memory_mib=lots&starts_at=tomorrow");
    expect(await screen.findByText(/left out: memory_mib, starts_at/)).toBeVisible();
    await ready();
  });
});

describe("races of quotes", () => {
  test("a late answer to an older choice never wins", async () => {
    const quotes = serve(
      "post",
      "/quotes",
      async (call) => {
        const { slice } = asked(call);
        // The first change is answered long after the second one.
        if (slice?.share_permille === 500) await delay(700);
        const amount_per_hour = slice?.share_permille === 500 ? "0.7500" : slice?.share_permille === 1000 ? "1.5000" : "0.3750";
        return makeQuote({ amount_per_hour }) as never;
      },
      201,
    );
    const { user } = await open(OWN);
    await ready();
    slider("Memory").focus();
    await user.keyboard("{PageUp}");
    await waitFor(() => expect(quotes.some((call) => asked(call).slice?.share_permille === 500)).toBe(true));
    await user.keyboard("{End}");
    expect(await within(quotePanel()).findByText("1.50 EUR")).toBeVisible();
    await delay(900);
    expect(within(quotePanel()).queryByText("0.75 EUR")).not.toBeInTheDocument();
    expect(screen.getByRole("button", { name: "Reserve" })).toHaveAttribute("aria-disabled", "false");
  });

  test("while the new answer is on its way the old one is kept and cannot be bought", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    serve(
      "post",
      "/quotes",
      async (call) => {
        if (asked(call).slice?.share_permille === 500) await held;
        return makeQuote() as never;
      },
      201,
    );
    const bought = serve("post", "/reservations", { id: "rsv_1" }, 201);
    const { user } = await open(OWN);
    await ready();
    slider("Memory").focus();
    await user.keyboard("{PageUp}");
    expect(await within(quotePanel()).findByText("Updating")).toBeVisible();
    expect(within(quotePanel()).getByText("0.375 EUR")).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Reserve" }));
    expect(bought).toHaveLength(0);
    release();
    await ready();
  });
});

describe("what stands in the way", () => {
  test("it does not fit: why, in words, and one click takes the nearest that does", async () => {
    const small = { memory_mib: 2048, share_permille: 125 };
    quoting(({ slice }) =>
      slice?.share_permille === 125
        ? {}
        : { fits: false, device: null, refusal: makeRefusal({ constraints: { memory: 2, offline: 1 }, nearest: [small] }) },
    );
    const { user } = await open(OWN);
    expect(await screen.findByText("2 devices have too little free memory")).toBeVisible();
    expect(screen.getByText("1 device does not answer")).toBeVisible();
    await user.click(screen.getByRole("button", { name: /2\s?GiB \+ 12.5\s?% at this time/ }));
    await ready();
    expect(screen.queryByText(/too little free memory/)).not.toBeInTheDocument();
  });

  test("no price, no sale: said in words", async () => {
    quoting(() => ({ fits: false, price: null, amount_per_hour: null, amount_total: null, refusal: makeRefusal({ code: "no_price", constraints: {} }) }));
    await open(OWN);
    expect(await screen.findByText(/No price is published for this class/)).toBeVisible();
    expect(screen.getByText("Not sold")).toBeVisible();
  });

  test("a quota that is used up says so and what is left of it", async () => {
    const quota = { share_permille_left: 125, memory_mib_left: 2048, reservations_left: 3, ok: false };
    const refusal = makeRefusal({
      code: "quota_exceeded",
      constraints: { quota_share_permille: 1 },
      nearest: [{ memory_mib: 2048, share_permille: 125 }],
    });
    quoting(() => ({ fits: false, quota, refusal }));
    await open(OWN);
    expect(await screen.findByText("It is more compute than your quota leaves")).toBeVisible();
    expect(screen.getByText(/2.GiB, 12.5.% of a device, 3 reservations/)).toBeVisible();
  });

  test("the server's own words for a wish that it cannot take", async () => {
    refuse("post", "/quotes", 422, { code: "wrong_period", title: "The period is not possible.", suggestion: "Choose an earlier time." });
    await open(OWN);
    expect(await screen.findByText("The period is not possible.")).toBeVisible();
    expect(screen.getByText("Choose an earlier time.")).toBeVisible();
  });

  test("a device of a link that is gone: another one with one click", async () => {
    serve("get", "/devices/dev_0gone", () => HttpResponse.json({ code: "not_found", title: "", detail: "", suggestion: "", request_id: "" }, { status: 404, headers: { "Content-Type": "application/problem+json" } }));
    const quotes = quoting(({ device }) => (device ? { fits: false, refusal: makeRefusal({ constraints: { other_device: 1 } }) } : {}));
    const { user } = await open(`${OWN}&device=dev_0gone`);
    expect(await screen.findByText("1 device is not the one you asked for")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Any device of the class" }));
    await ready();
    expect(asked(quotes.at(-1)).device).toBeNull();
  });

  test("no project, and no device: what to do", async () => {
    await open("/reserve", makeMe({ projects: [] }));
    expect(await screen.findByText("You are not in a project yet")).toBeVisible();
    expect(screen.getByRole("link", { name: "Open Access" })).toHaveAttribute("href", "/access");
  });

  test("an empty market says who can fill it", async () => {
    serve("get", "/offers", pageOf([]));
    serve("get", "/devices", pageOf([]));
    await open("/reserve", makeMe({ is_operator: true }));
    expect(await screen.findByText("There is no device yet")).toBeVisible();
    expect(screen.getByRole("link", { name: "Add a node" })).toHaveAttribute("href", "/nodes");
  });

  test("a name may be long and of any script", async () => {
    quoting();
    const bought = serve("post", "/reservations", { id: "rsv_1" }, 201);
    const { user } = await open(OWN);
    await ready();
    const field = screen.getByRole("textbox", { name: "Name" });
    expect(field).toHaveAttribute("dir", "auto");
    expect(field).toHaveAttribute("maxlength", "200");
    await user.type(field, "אימון");
    await user.click(screen.getByRole("button", { name: "Reserve" }));
    await waitFor(() => expect(bought[0]?.body).toMatchObject({ name: "אימון" }));
  });

  test("a named device sets the scale of the sliders", async () => {
    serve("get", "/devices", pageOf([makeDevice(), makeDevice({ id: "dev_0small", capacity_mib: 8192 })]));
    quoting();
    await open(`${OWN}&device=dev_0small`);
    await ready();
    expect(slider("Memory")).toHaveAttribute("aria-valuemax", "8192");
    expect(DEVICE).not.toBe("dev_0small");
  });
});
