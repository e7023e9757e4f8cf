import { screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AccessPage } from "@/features/access/access-page";
import { browserName } from "@/features/access/sessions-panel";
import { makeMe } from "@/test/make";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";

const later = new Date(Date.now() + 86_400_000 * 20).toISOString();
const before = new Date(Date.now() - 86_400_000).toISOString();
const token = (over = {}) => ({
  id: "tok_1",
  user: makeMe().user,
  name: "laptop",
  hint: "vxp_pat_abcd",
  scopes: ["lease:read"],
  created_at: before,
  expires_at: later,
  last_used_at: null,
  revoked_at: null,
  ...over,
});
const member = (id: string, name: string) => ({
  id,
  user: { id: `usr_${id}`, name, email: `${id}@acme.example` },
  role: "member",
  project: makeMe().projects[0]?.id ?? null,
  created_at: before,
});
const secret = "vxp_pat_only-this-once";

beforeEach(() => {
  serve("get", "/tokens", pageOf([token(), token({ id: "tok_2", name: "old", revoked_at: before })]));
});

describe("tokens", () => {
  it("are listed with their state; only valid ones can be revoked", async () => {
    await renderPage(AccessPage, { at: "/access" });
    expect(await screen.findByRole("button", { name: "Revoke laptop" })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Revoke old" })).toBeNull();
    expect(screen.getByText("Revoked")).toBeInTheDocument();
  });

  it("are made with what was chosen, and the secret is shown this once", async () => {
    const calls = serve("post", "/tokens", { token: token({ name: "ci" }), secret }, 201);
    const { user } = await renderPage(AccessPage, { at: "/access" });
    await user.click(await screen.findByRole("button", { name: "New token" }));
    await user.type(screen.getByLabelText("Name"), "ci");
    await user.click(screen.getByRole("checkbox", { name: /run programs in leases/ }));
    expect(screen.getByRole("checkbox", { name: /see leases/ })).toBeDisabled();
    await user.click(screen.getByRole("button", { name: "Create the token" }));
    expect(await screen.findByText(secret)).toBeInTheDocument();
    expect(calls[0]?.body).toMatchObject({ name: "ci", scopes: ["lease:write"] });
    await user.click(screen.getByRole("button", { name: "I have copied it" }));
    expect(screen.queryByText(secret)).toBeNull();
  });

  it("can be given less than one has: reading without changing", async () => {
    const me = makeMe({ scopes: ["lease:write"] });
    const { user } = await renderPage(AccessPage, { at: "/access", me });
    await user.click(await screen.findByRole("button", { name: "New token" }));
    expect(screen.getAllByRole("checkbox", { name: /lease:/ })).toHaveLength(2);
  });

  it("need a name and a right", async () => {
    const { user } = await renderPage(AccessPage, { at: "/access" });
    await user.click(await screen.findByRole("button", { name: "New token" }));
    await user.click(screen.getByRole("button", { name: "Create the token" }));
    expect(screen.getByText("Give it a name, to know it again later.")).toBeInTheDocument();
    expect(screen.getByText("Choose at least one.")).toBeInTheDocument();
  });

  it("are revoked after it was said what is lost", async () => {
    const calls = serve("delete", "/tokens/tok_1", null, 204);
    const { user } = await renderPage(AccessPage, { at: "/access" });
    await user.click(await screen.findByRole("button", { name: "Revoke laptop" }));
    const asked = await screen.findByRole("dialog", { name: "Revoke: laptop?" });
    expect(asked).toHaveTextContent("stop working at once");
    await user.click(within(asked).getByRole("button", { name: "Revoke" }));
    await vi.waitFor(() => expect(calls).toHaveLength(1));
  });
});

describe("members", () => {
  it("are added to a project; who is new gets a first token", async () => {
    serve("get", "/members", pageOf([member("mem_1", "Bo")]));
    const made = { ...member("mem_2", "Cy"), first_token: { token: token(), secret } };
    const calls = serve("post", "/members", made, 201);
    const { user } = await renderPage(AccessPage, { at: "/access?tab=members" });
    expect(await screen.findByText("mem_1@acme.example")).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Add a member" }));
    await user.type(await screen.findByRole("textbox", { name: "E-mail address" }), "cy@acme.example");
    await user.type(screen.getByLabelText("Name"), "Cy");
    await user.click(screen.getByRole("button", { name: "Add" }));
    expect(await screen.findByText(secret)).toBeInTheDocument();
    expect(calls[0]?.body).toEqual({ email: "cy@acme.example", name: "Cy", role: "member", project: makeMe().projects[0]?.id });
  });

  it("cannot all go: the server's reason is shown", async () => {
    serve("get", "/members", pageOf([member("mem_1", "Bo")]));
    refuse("delete", "/members/mem_1", 409, { code: "last_admin", title: "The last admin", detail: "Somebody must be left." });
    const { user } = await renderPage(AccessPage, { at: "/access?tab=members" });
    await user.click(await screen.findByRole("button", { name: "Remove Bo" }));
    await user.click(within(await screen.findByRole("dialog", { name: "Remove: Bo?" })).getByRole("button", { name: "Remove" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("Somebody must be left.");
  });

  it("are only seen by who may see them", async () => {
    await renderPage(AccessPage, { at: "/access?tab=members", me: makeMe({ scopes: ["reservation:read"] }) });
    expect(screen.queryByRole("tab", { name: "Members" })).toBeNull();
  });
});

describe("the password", () => {
  it("is changed with the current one, typed twice", async () => {
    const calls = serve("post", "/me/password", null, 204);
    serve("get", "/me", makeMe());
    const { user } = await renderPage(AccessPage, { at: "/access?tab=password" });
    await user.type(screen.getByLabelText("Current password"), "old");
    await user.type(screen.getByLabelText("New password"), "a long new one");
    await user.type(screen.getByLabelText("New password, again"), "a long new one?");
    await user.click(screen.getByRole("button", { name: "Set the password" }));
    expect(screen.getByText("The two are not the same.")).toBeInTheDocument();
    await user.type(screen.getByLabelText("New password, again"), "{Backspace}");
    await user.click(screen.getByRole("button", { name: "Set the password" }));
    await vi.waitFor(() => expect(calls[0]?.body).toEqual({ current: "old", new: "a long new one" }));
  });

  it("the first one needs no other", async () => {
    const calls = serve("post", "/me/password", null, 204);
    serve("get", "/me", makeMe());
    const { user } = await renderPage(AccessPage, { at: "/access?tab=password", me: makeMe({ has_password: false }) });
    for (const label of ["New password", "New password, again"]) await user.type(screen.getByLabelText(label), "a long new one");
    await user.click(screen.getByRole("button", { name: "Set the password" }));
    await vi.waitFor(() => expect(calls[0]?.body).toEqual({ new: "a long new one" }));
  });
});

it.each([
  ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36", "Chrome, Linux"],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1", "Safari, iPhone"],
  ["curl/8.9", "curl/8.9"],
])("names a browser: %s", (client, name) => expect(browserName(client)).toBe(name));
