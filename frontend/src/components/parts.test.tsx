import { screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { ActionLines } from "@/components/action-lines";
import { ConfirmDestructive } from "@/components/confirm-destructive";
import { Id } from "@/components/id";
import { IsolationBadge } from "@/components/isolation-badge";
import { LiveDot } from "@/components/live-dot";
import { Money } from "@/components/money";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { Reading } from "@/components/reading";
import { ShareBar } from "@/components/share-bar";
import { Sparkline } from "@/components/sparkline";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import { Problem, unreachable } from "@/lib/problem";
import { renderPage } from "@/test/render";
import { serve } from "@/test/network";

const facts = { status: 409, title: "Nothing fits", detail: "All devices are full.", suggestion: "Try 18:00.", request_id: "req_1" };

describe("what every page shows alike", () => {
  it("a page: one heading, which is the tab's title too", async () => {
    await renderPage(() => <Page title="Cost">…</Page>);
    expect(screen.getByRole("heading", { level: 1, name: "Cost" })).toBeInTheDocument();
    expect(document.title).toBe("Cost · vXPU Market");
  });

  it("a problem: what, why, what next, and the id to quote", async () => {
    const retry = vi.fn();
    const { user } = await renderPage(() => <ProblemAlert problem={new Problem({ code: "no_capacity", ...facts })} retry={retry} />);
    const alert = screen.getByRole("alert");
    for (const text of [facts.title, facts.detail, facts.suggestion, "req_1"]) expect(alert).toHaveTextContent(text);
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(retry).toHaveBeenCalledOnce();
  });

  it("no answer at all, in our own words", async () => {
    await renderPage(() => <ProblemAlert problem={unreachable()} />);
    expect(screen.getByRole("alert")).toHaveTextContent("The server did not answer");
  });

  it("a reading that is not known is n/a with its reason, never zero", async () => {
    const { user } = await renderPage(() => <Reading reading={{ value: null, at: null, quality: "unavailable" }} unit="MiB" />);
    await user.hover(screen.getByText("n/a"));
    expect(await screen.findByRole("tooltip")).toHaveTextContent("does not report this");
  });

  it("a reading with its age and quality", async () => {
    const at = new Date(Date.now() - 120_000).toISOString();
    const { user } = await renderPage(() => <Reading reading={{ value: 0, at, quality: "measured" }} unit="MiB" />);
    await user.tab();
    expect(screen.getByText("0 MiB")).toBeInTheDocument();
    expect(await screen.findByRole("tooltip")).toHaveTextContent(/Measured, 2 min/);
  });

  it("a time: relative, and the exact one in the viewer's zone", async () => {
    serve("get", "/account", { zone: "Europe/Berlin" });
    const { user } = await renderPage(() => <When at={new Date(Date.now() - 3 * 3_600_000)} />);
    await user.hover(screen.getByText(/3 hr ago/));
    expect(await screen.findByRole("tooltip")).toHaveTextContent(/\d{4}.*\d\d:\d\d:\d\d/);
  });

  it("money with its currency, an unknown amount without one", async () => {
    await renderPage(() => (
      <>
        <Money amount="0.3750" currency="EUR" />
        <Money amount={null} currency="EUR" />
      </>
    ));
    expect(screen.getByText("0.375 EUR")).toBeInTheDocument();
    expect(screen.getByText("n/a")).toBeInTheDocument();
  });

  it("states by word, also those that we have no word for", async () => {
    await renderPage(() => (
      <>
        <StateBadge state="no_show" />
        <StateBadge state="brand_new" />
      </>
    ));
    expect(screen.getByText("Not used")).toBeInTheDocument();
    expect(screen.getByText("brand new")).toBeInTheDocument();
  });

  it("isolation in one sentence, and a simulated device as such", async () => {
    await renderPage(() => <IsolationBadge mode="limiter-strict" simulated explained />);
    expect(screen.getByText(/cannot be switched off from inside\. The device is simulated/)).toBeInTheDocument();
  });

  it("a share against its limit; an unknown one is said to be so", async () => {
    await renderPage(() => (
      <>
        <ShareBar used={512} limit={1024} label="Memory" />
        <ShareBar used={null} limit={1024} label="Power" />
      </>
    ));
    expect(screen.getByRole("meter", { name: "Memory" })).toHaveAttribute("aria-valuetext", "512 of 1024");
    expect(screen.getByRole("img", { name: "Power: n/a" })).toBeInTheDocument();
  });

  it("a line with a gap where values are missing", async () => {
    await renderPage(() => <Sparkline values={[1, 2, null, 3, 4]} label="Price" />);
    const line = screen.getByRole("img", { name: "Price" }).querySelector("path");
    expect(line?.getAttribute("d")?.match(/M/g)).toHaveLength(2);
  });

  it("an id, the lines for a terminal, and whether all this is live", async () => {
    await renderPage(() => (
      <>
        <Id value="rsv_1" />
        <ActionLines vxpu="vxpu ls" curl="curl -sS http://localhost/api/v1/leases" />
        <LiveDot status="reconnecting" />
      </>
    ));
    expect(screen.getByRole("button", { name: "Copy rsv_1" })).toBeInTheDocument();
    expect(screen.getByText("vxpu ls")).toBeInTheDocument();
    expect(screen.getByText("Reconnecting")).toBeInTheDocument();
  });
});

describe("before something is lost", () => {
  const ask = (onConfirm: () => Promise<unknown>, onClose: () => void, typed = false) =>
    renderPage(() => (
      <ConfirmDestructive
        action="Revoke"
        name="laptop"
        loses="Programs that use it stop."
        typed={typed}
        onConfirm={onConfirm}
        onClose={onClose}
      />
    ));

  it("says what, closes after a success", async () => {
    const onClose = vi.fn();
    const { user } = await ask(() => Promise.resolve(), onClose);
    expect(screen.getByRole("dialog", { name: "Revoke: laptop?" })).toHaveTextContent("Programs that use it stop.");
    await user.click(screen.getByRole("button", { name: "Revoke" }));
    expect(onClose).toHaveBeenCalledOnce();
  });

  it("stays and says why it did not work", async () => {
    const onClose = vi.fn();
    const { user } = await ask(() => Promise.reject(new Problem({ code: "gone", ...facts })), onClose);
    await user.click(screen.getByRole("button", { name: "Revoke" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("All devices are full.");
    expect(onClose).not.toHaveBeenCalled();
  });

  it("waits for the typed name where there is no way back", async () => {
    const { user } = await ask(() => Promise.resolve(), vi.fn(), true);
    expect(screen.getByRole("button", { name: "Revoke" })).toBeDisabled();
    await user.type(screen.getByRole("textbox"), "laptop");
    expect(screen.getByRole("button", { name: "Revoke" })).toBeEnabled();
  });
});
