import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { barsOf } from "@/features/nodes/device-lanes";
import { DevicePage } from "@/features/nodes/device-page";
import { NodePage } from "@/features/nodes/node-page";
import { NodesPage } from "@/features/nodes/nodes-page";
import type { Schema } from "@/lib/api";
import { makeMe } from "@/test/make";
import { deviceId, makeFleet, makeImpact, makeNode, NODE_IDS } from "@/test/make-fleet";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";

const operator = makeMe({ is_operator: true });
const NOW = new Date().toISOString();

// Whose zone times are told in.
beforeEach(() => void refuse("get", "/account", 404, { code: "not_found" }));

function makeDevice(over: Partial<Schema<"Device">> = {}): Schema<"Device"> {
  return {
    id: deviceId(0),
    node: NODE_IDS[0],
    key: "nvidia:GPU-1",
    kind: "nvidia",
    model: "Simulated A100 80 GB",
    vendor: "Simulated",
    simulated: true,
    compute_units: 108,
    capacity_mib: 81_920,
    capacity_permille: 1000,
    isolation: "limiter-advisory",
    isolation_detail: "Simulated: nothing is enforced.",
    online: true,
    readings: {
      temperature_c: { value: 92, at: NOW, quality: "measured" },
      power_mw: { value: null, at: null, quality: "unavailable" },
    },
    memory_mib: 81_920,
    node_hostname: "gpu-0",
    rack: "R01",
    cordoned: false,
    card: null,
    health: { score: 32, metrics: { temperature_c: { value: 92, at: NOW, quality: "measured", score: 32 } } },
    ...over,
  };
}

function serveNode(node = makeNode()) {
  serve("get", `/nodes/${node.id}`, node);
  serve("get", `/nodes/${node.id}/impact`, makeImpact());
  serve("get", `/nodes/${node.id}/events`, pageOf([{ id: "nev_1", node: node.id, hostname: node.hostname, kind: "cordoned", actor: "olga", reason: "a fan rattles", at: NOW }]));
  serve("get", "/fleet", makeFleet());
  for (const index of [0, 1]) serve("get", `/devices/${deviceId(index)}`, makeDevice({ id: deviceId(index) }));
}

const drawNode = () => renderPage(NodePage, { at: `/nodes/${NODE_IDS[0]}`, path: "/nodes/$id", me: operator });

describe("the nodes", () => {
  it("are listed with their state, and say the next step when there are none", async () => {
    serve("get", "/nodes", pageOf([makeNode(), makeNode({ id: NODE_IDS[1], hostname: "gpu-1", online: false })]));
    const { unmount } = await renderPage(NodesPage, { at: "/nodes", me: operator });
    const table = await screen.findByRole("grid", { name: "Nodes of the fleet" });
    expect(within(table).getByText("Offline")).toBeInTheDocument();
    unmount();
    serve("get", "/nodes", pageOf([]));
    await renderPage(NodesPage, { at: "/nodes", me: operator });
    expect(await screen.findByText("There is no node yet")).toBeInTheDocument();
  });

  it("are no tenant's business", async () => {
    await renderPage(NodesPage, { at: "/nodes" });
    expect(screen.getByText("Nodes are the operator's")).toBeInTheDocument();
  });

  it("join by one line, and show themselves when they are heard", async () => {
    let nodes = [makeNode()];
    serve("get", "/nodes", () => pageOf(nodes));
    const asked = serve("post", "/enrolments", { id: "enr_1", one_time_token: "vxe_x", expires_at: NOW, command: "printf %s vxe_x | vxpu-agent enrol" }, 201);
    const { user, queryClient } = await renderPage(NodesPage, { at: "/nodes", me: operator });
    await screen.findByRole("grid");
    await user.click(screen.getByRole("button", { name: "Add a node" }));
    const dialog = await screen.findByRole("dialog", { name: "Add a node" });
    await user.type(within(dialog).getByRole("textbox", { name: /Note/ }), "rack 3");
    expect(within(dialog).getByText("vxpu node enrol --note 'rack 3'")).toBeInTheDocument();
    await user.click(within(dialog).getByRole("button", { name: "Make the line" }));
    expect(await within(dialog).findByText("printf %s vxe_x | vxpu-agent enrol")).toBeInTheDocument();
    expect(asked[0]?.body).toEqual({ note: "rack 3", node: null });
    expect(within(dialog).getByText("Waiting")).toBeInTheDocument();
    nodes = [...nodes, makeNode({ id: NODE_IDS[1], hostname: "fresh" })];
    await queryClient.invalidateQueries();
    expect(await within(dialog).findByText("Connected")).toBeInTheDocument();
    expect(within(dialog).getByText("fresh with 2 devices.")).toBeInTheDocument();
  });
});

describe("a node", () => {
  it("shows its devices, who is on it, and what happened to it", async () => {
    serveNode();
    await drawNode();
    expect(await screen.findByRole("heading", { level: 1, name: "gpu-0" })).toBeInTheDocument();
    expect(await screen.findByText("1 running lease and 0 bookings for later of 1 tenant are affected.")).toBeInTheDocument();
    expect(await screen.findAllByRole("link", { name: "Simulated A100 80 GB" })).toHaveLength(2);
    expect(await screen.findByText("olga · a fan rattles")).toBeInTheDocument();
  });

  it("says in which pool and at which site it is", async () => {
    serveNode(makeNode({ pool: "east", site: "hq" }));
    await drawNode();
    expect(await screen.findByText("east")).toBeInTheDocument();
    expect(screen.getByText("hq")).toBeInTheDocument();
  });

  it("is cordoned after one question", async () => {
    serveNode();
    const calls = serve("post", `/nodes/${NODE_IDS[0]}/cordon`, makeNode({ cordoned: true }));
    const { user } = await drawNode();
    await user.click(await screen.findByRole("button", { name: "Cordon" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Cordon" }));
    await waitFor(() => expect(calls).toHaveLength(1));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("is put back, and a refusal is shown with its way out", async () => {
    serveNode(makeNode({ cordoned: true }));
    refuse("post", `/nodes/${NODE_IDS[0]}/uncordon`, 409, { code: "node_is_draining", title: "The node is in maintenance.", suggestion: "Undrain it." });
    const { user } = await drawNode();
    await user.click(await screen.findByRole("button", { name: "Lift the cordon" }));
    expect(await screen.findByText("Undrain it.")).toBeInTheDocument();
  });

  it("is revoked only when its name is typed", async () => {
    serveNode();
    const calls = serve("post", `/nodes/${NODE_IDS[0]}/revoke`, makeNode({ state: "revoked" }));
    const { user } = await drawNode();
    await user.click(await screen.findByRole("button", { name: "Revoke" }));
    const dialog = await screen.findByRole("dialog");
    const confirm = within(dialog).getByRole("button", { name: "Revoke" });
    expect(confirm).toBeDisabled();
    await user.type(within(dialog).getByRole("textbox"), "gpu-0");
    await user.click(confirm);
    await waitFor(() => expect(calls).toHaveLength(1));
  });

  it("has its rack changed in place", async () => {
    serveNode();
    const calls = serve("patch", `/nodes/${NODE_IDS[0]}`, makeNode({ rack: "R07" }));
    const { user } = await drawNode();
    await user.click(await screen.findByRole("button", { name: "Change" }));
    const field = screen.getByRole("textbox", { name: "Rack" });
    await user.clear(field);
    await user.type(field, "R07{Enter}");
    await waitFor(() => expect(calls[0]?.body).toEqual({ rack: "R07" }));
    expect(await screen.findByText("R07")).toBeInTheDocument();
  });
});

describe("a device", () => {
  const draw = () => renderPage(DevicePage, { at: `/devices/${deviceId(0)}`, path: "/devices/$id" });

  it("tells its readings with their quality, and n/a for what the driver does not give", async () => {
    serve("get", `/devices/${deviceId(0)}`, makeDevice());
    serve("get", `/devices/${deviceId(0)}/calendar`, { device: deviceId(0), items: [] });
    await draw();
    const [readings] = await screen.findAllByRole("table");
    expect(within(readings as HTMLElement).getByText("92 °C")).toBeInTheDocument();
    expect(within(readings as HTMLElement).getAllByText("n/a").length).toBeGreaterThan(0);
    expect(screen.getByText("Unwell")).toBeInTheDocument();
    expect(await screen.findByText("Nothing is booked on it in these two days.")).toBeInTheDocument();
  });

  it("that is not there says so", async () => {
    refuse("get", `/devices/${deviceId(0)}`, 404, { code: "not_found", title: "There is no such thing.", detail: "No device." });
    await draw();
    expect(await screen.findByRole("alert")).toHaveTextContent("No device.");
  });

  it("lays overlapping slices in rows and touching ones in one", () => {
    const at = (hour: number) => new Date(Date.UTC(2026, 10, 30, hour)).toISOString();
    const taken = (from: number, to: number | null) => ({ starts_at: at(from), ends_at: to === null ? null : at(to), slice: { memory_mib: 1, share_permille: 1 }, whole: false, lease: null });
    const { bars, lanes } = barsOf([taken(0, 6), taken(3, null), taken(6, 9)], Date.parse(at(0)), Date.parse(at(12)));
    expect(lanes).toBe(2);
    expect(bars.map((bar) => bar.lane)).toEqual([0, 1, 0]);
    expect(bars[1]).toMatchObject({ left: 25, width: 75 });
  });
});
