import { screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Shell } from "@/app/shell";
import { sessionEnd } from "@/lib/session-end";
import { FakeSocket } from "@/test/fake-socket";
import { makeMe, PROJECT } from "@/test/make";
import { serve } from "@/test/network";
import { renderPage } from "@/test/render";

beforeEach(() => {
  FakeSocket.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  serve("post", "/live-tickets", { ticket: "t", url: "ws://localhost/live", expires_at: "2026-12-01T00:00:00Z" }, 201);
  serve("get", "/account", { id: "acc_1", zone: "Asia/Kolkata", currency: "EUR" });
});

describe("the frame of every page", () => {
  it("tells whether it is live", async () => {
    await renderPage(Shell);
    expect(await screen.findByText("Reconnecting")).toBeInTheDocument();
    await vi.waitFor(() => FakeSocket.last());
    FakeSocket.last().welcome();
    expect(await screen.findByText("Live")).toBeInTheDocument();
  });

  it("switches the project and keeps it", async () => {
    const other = { ...PROJECT, id: "prj_2", name: "speech" };
    const { user } = await renderPage(Shell, { me: makeMe({ projects: [PROJECT, other] }) });
    await user.click(screen.getByRole("button", { name: "Project: vision" }));
    await user.click(screen.getByRole("radio", { name: "speech" }));
    expect(screen.getByRole("button", { name: "Project: speech" })).toBeInTheDocument();
    expect(localStorage.getItem("vxpu.project")).toBe("prj_2");
  });

  it("switches the clock to the account's zone", async () => {
    const { user } = await renderPage(Shell);
    await user.click(await screen.findByRole("radio", { name: /Account: Asia\/Kolkata/ }));
    expect(screen.getByRole("button", { name: /^\d\d:\d\d, Time zone: Asia\/Kolkata$/ })).toBeInTheDocument();
    await user.click(screen.getByRole("radio", { name: /This browser/ }));
  });

  it("speaks Chinese and comes back", async () => {
    const { user } = await renderPage(Shell);
    await user.click(screen.getByRole("radio", { name: "中文" }));
    expect(await screen.findByRole("button", { name: "退出登录" })).toBeInTheDocument();
    await user.click(screen.getByRole("radio", { name: "English" }));
    expect(await screen.findByRole("button", { name: "Log out" })).toBeInTheDocument();
  });

  it("logs out", async () => {
    const calls = serve("delete", "/session", null, 204);
    const { user } = await renderPage(Shell);
    await user.click(screen.getByRole("button", { name: "Log out" }));
    await vi.waitFor(() => expect(sessionEnd.get()).toBe("signed_out"));
    expect(calls).toHaveLength(1);
  });

  it("names who is there, whatever the script of the name", async () => {
    const me = makeMe({ name: "نورة".repeat(50), is_operator: true });
    await renderPage(Shell, { me });
    const menu = screen.getByRole("dialog", { name: "Account and settings", hidden: true });
    expect(within(menu).getByText(me.name)).toHaveAttribute("dir", "auto");
    expect(within(menu).getByText(/operator/)).toBeInTheDocument();
  });

  it("says that the network is away", async () => {
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    await renderPage(Shell);
    expect(screen.getByText(/Your browser has no network/)).toBeInTheDocument();
  });
});
