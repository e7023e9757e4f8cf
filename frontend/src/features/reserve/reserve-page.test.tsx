import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, test } from "vitest";
import { ReservePage } from "@/features/reserve/reserve-page";
import { makeDevice, makeOffer, makeQuote, OFFER } from "@/test/make-shelf";
import { pageOf, serve } from "@/test/network";
import { renderPage } from "@/test/render";

describe("choosing and buying", () => {
  test("the usual size is quoted at once and bought with one click", async () => {
    serve("get", "/offers", pageOf([makeOffer()]));
    serve("get", "/devices", pageOf([makeDevice()]));
    serve("get", "/account", {});
    const quotes = serve("post", "/quotes", () => makeQuote() as never, 201);
    const bought = serve("post", "/reservations", { id: "rsv_1" }, 201);
    const { user, router } = await renderPage(ReservePage, { at: "/reserve" });

    expect(await screen.findByText("Fits", { selector: "span" })).toBeVisible();
    expect(quotes[0]?.body).toMatchObject({ offer: OFFER, starts_at: null });
    const quote = screen.getByRole("region", { name: "Quote" });
    expect(within(quote).getByText("0.375 EUR")).toBeVisible();

    await user.click(screen.getByRole("button", { name: "Reserve" }));
    await waitFor(() => expect(router.state.location.pathname).toBe("/reservations/rsv_1"));
    expect(bought).toHaveLength(1);
    expect(bought[0]?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f-]{36}$/);
  });
});
