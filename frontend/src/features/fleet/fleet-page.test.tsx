import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { FleetPage } from "@/features/fleet/fleet-page";
import { makeMe } from "@/test/make";
import { deviceId, makeFleet, makeImpact, makeNode, NODE_IDS } from "@/test/make-fleet";
import { refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";

const operator = makeMe({ is_operator: true });
const draw = (at = "/fleet", me = makeMe()) => renderPage(FleetPage, { at, path: "/fleet", me });

beforeEach(() => {
  // Whose zone times are told in.
  refuse("get", "/account", 404, { code: "not_found" });
  globalThis.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  } as never;
});

describe("the fleet", () => {
  it("tells the whole in words and in figures, and which devices are simulated", async () => {
    serve("get", "/fleet", makeFleet());
    await draw();
    const picture = await screen.findByRole("img", { name: /5 devices on 3 nodes in 2 racks/ });
    expect(picture).toHaveAccessibleName(/1 not read of late, 2 unwell/);
    expect(screen.getByText("2 of 5 devices")).toBeInTheDocument();
  });

  it("has a table of the same devices, with its filter in the address", async () => {
    serve("get", "/fleet", makeFleet());
    const { user, router } = await draw("/fleet?view=table");
    const table = await screen.findByRole("grid", { name: "Devices of the fleet" });
    expect(within(table).getAllByRole("row")).toHaveLength(6);
    await user.type(screen.getByRole("textbox", { name: "Filter" }), "H200");
    expect(router.state.location.search).toMatchObject({ view: "table", q: "H200" });
    const [, row] = within(table).getAllByRole("row");
    expect(row).toHaveTextContent("Not read of late");
    expect(row).toHaveTextContent("n/a");
  });

  it("walks the map by keys, says where one is, and opens the device", async () => {
    serve("get", "/fleet", makeFleet());
    const { user, router } = await draw();
    const map = await screen.findByRole("group", { name: "Map of the fleet" });
    map.focus();
    await user.keyboard("{ArrowRight}");
    expect(await screen.findByText(/^Simulated A100 80 GB, Simulated, R01, gpu-0, Use 20 %, 2 slices/)).toBeInTheDocument();
    await user.keyboard("{ArrowRight}{Enter}");
    await waitFor(() => expect(router.state.location.pathname).toBe(`/devices/${deviceId(1)}`));
  });

  it("keeps the metric in the address", async () => {
    serve("get", "/fleet", makeFleet());
    const { user, router } = await draw();
    await user.click(await screen.findByRole("radio", { name: "Temperature" }));
    expect(router.state.location.search).toMatchObject({ metric: "temperature" });
    expect(screen.getByRole("img", { name: /Temperature from 30 to 100/ })).toBeInTheDocument();
  });

  it("lets an operator choose by keys, see who is affected, and drain", async () => {
    serve("get", "/fleet", makeFleet());
    serve("get", `/nodes/${NODE_IDS[0]}/impact`, makeImpact());
    const drains = serve("post", `/nodes/${NODE_IDS[0]}/drain`, makeNode({ cordoned: true }));
    const { user } = await draw("/fleet", operator);
    (await screen.findByRole("group", { name: "Map of the fleet" })).focus();
    await user.keyboard("{ArrowRight} {ArrowRight} ");
    const bar = screen.getByRole("region", { name: "Chosen devices" });
    expect(bar).toHaveTextContent("2 devices on 1 node chosen");
    await user.click(within(bar).getByRole("button", { name: "Drain" }));
    const dialog = await screen.findByRole("dialog");
    expect(await within(dialog).findByText("1 running lease and 0 bookings for later of 1 tenant are affected.")).toBeInTheDocument();
    const confirm = within(dialog).getByRole("button", { name: "Drain 1 node" });
    expect(confirm).toBeDisabled();
    await user.type(within(dialog).getByRole("textbox", { name: /Reason/ }), "new fans");
    await user.click(confirm);
    await waitFor(() => expect(drains).toHaveLength(1));
    expect(drains[0]?.body).toEqual({ reason: "new fans", at: null, move: false });
  });

  it("does not let a tenant choose", async () => {
    serve("get", "/fleet", makeFleet());
    const { user } = await draw();
    (await screen.findByRole("group", { name: "Map of the fleet" })).focus();
    await user.keyboard("{ArrowRight} ");
    expect(screen.queryByRole("region", { name: "Chosen devices" })).toBeNull();
  });

  it("says the next step when there is nothing, and what happened when it fails", async () => {
    const empty = { ...makeFleet(), racks: [], nodes: [], devices: { ...makeFleet().devices, id: [], node: [], slices: [] } };
    serve("get", "/fleet", empty);
    const { unmount } = await draw("/fleet", operator);
    expect(await screen.findByRole("link", { name: "Add a node" })).toHaveAttribute("href", "/nodes");
    unmount();
    refuse("get", "/fleet", 503, { code: "database_away", title: "The database is away.", suggestion: "Try again." });
    await draw();
    expect(await screen.findByRole("alert")).toHaveTextContent("The database is away.");
  });

  it("zooms by wheel without scrolling the page", async () => {
    serve("get", "/fleet", makeFleet());
    await draw();
    const map = await screen.findByRole("group", { name: "Map of the fleet" });
    expect(fireEvent.wheel(map, { deltaY: 100 })).toBe(false);
  });
});
