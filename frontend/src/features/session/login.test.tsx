import { screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { LoginForm } from "@/features/session/login-form";
import { loginSearch } from "@/features/session/login-search";
import { refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";

const opened = { user: { id: "usr_1", name: "Ada", email: "ada@acme.example" }, expires_at: "2026-12-01T00:00:00Z" };

async function fillIn(onEntered = vi.fn()) {
  const view = await renderPage(() => <LoginForm onEntered={onEntered} />);
  await view.user.type(screen.getByLabelText("E-mail address"), " ada@acme.example ");
  await view.user.type(screen.getByLabelText("Password"), " secret ");
  return { ...view, onEntered };
}

describe("logging in", () => {
  it("sends the address trimmed and the password as typed", async () => {
    const calls = serve("post", "/session", opened, 201);
    const { user, onEntered } = await fillIn();
    await user.click(screen.getByRole("button", { name: "Log in" }));
    await vi.waitFor(() => expect(onEntered).toHaveBeenCalledOnce());
    expect(calls[0]?.body).toEqual({ email: "ada@acme.example", password: " secret " });
  });

  it("takes a personal token instead", async () => {
    const calls = serve("post", "/session", opened, 201);
    const onEntered = vi.fn();
    const { user } = await renderPage(() => <LoginForm onEntered={onEntered} />);
    await user.click(screen.getByRole("radio", { name: "Token" }));
    await user.type(screen.getByLabelText("Personal token"), "vxp_pat_abc{Enter}");
    await vi.waitFor(() => expect(onEntered).toHaveBeenCalledOnce());
    expect(calls[0]?.body).toEqual({ token: "vxp_pat_abc" });
  });

  it("says what is missing before it asks the server", async () => {
    const { user } = await renderPage(() => <LoginForm onEntered={vi.fn()} />);
    await user.click(screen.getByRole("button", { name: "Log in" }));
    expect(screen.getAllByText("Fill this in.")).toHaveLength(2);
  });

  it("says that the log-in is wrong, and when to come again after too many", async () => {
    refuse("post", "/session", 401, { code: "wrong_login", title: "Wrong log-in", detail: "Address or password is wrong." });
    const { user } = await fillIn();
    await user.click(screen.getByRole("button", { name: "Log in" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("Address or password is wrong.");
    refuse("post", "/session", 429, { code: "too_many_attempts", title: "Too many tries" }, { "Retry-After": "300" });
    await user.click(screen.getByRole("button", { name: "Log in" }));
    expect(await screen.findByText(/You can try again in 5 min/)).toBeInTheDocument();
  });
});

describe("where a log-in leads", () => {
  it.each([
    ["/cost?group=day", "/cost?group=day"],
    ["//evil.example", undefined],
    ["/\\evil.example", undefined],
    ["https://evil.example", undefined],
    ["/login", undefined],
  ])("%s -> %s", (next, allowed) => expect(loginSearch({ next }).next).toBe(allowed));

  it("knows the reasons that it can be told", () => {
    expect([loginSearch({ why: "revoked" }).why, loginSearch({ why: "<b>" }).why]).toEqual(["revoked", undefined]);
  });
});
