import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";
import { OffersPage } from "@/features/offers/offers-page";
import { makeMe } from "@/test/make";
import { makeDevice, makeOffer } from "@/test/make-shelf";
import { pageOf, refuse, serve } from "@/test/network";
import { renderPage } from "@/test/render";

vi.setConfig({ testTimeout: 60_000 });

const LATER = "2030-01-15T13:00:00Z";
const price = (unit_price: string) => ({ id: "prc_1", unit_price, currency: "EUR", unit: "device-hour" as const });

const SHELF = [
  makeOffer({ id: "off_1", preset: "1/2", slice: { memory_mib: 8192, share_permille: 500 } }),
  makeOffer({ id: "off_2", preset: "1/4" }),
  makeOffer({
    id: "off_3",
    device_kind: "nvidia",
    title: "1/8 of an nvidia device",
    preset: "1/8",
    slice: { memory_mib: 10_240, share_permille: 125 },
    simulated: true,
    isolation: ["limiter-advisory"],
    price: price("1.0000000000"),
    earliest_start_at: LATER,
    health: 96,
  }),
  makeOffer({ id: "off_4", device_kind: "cpu", price: null, price_line: [], earliest_start_at: null, devices_online: 0, free: null }),
];

beforeEach(() => {
  serve("get", "/devices", pageOf([makeDevice(), makeDevice({ id: "dev_2", kind: "nvidia", capacity_mib: 81_920 })]));
  serve("get", "/account", {});
});

const open = (at = "/offers", me = makeMe()) => renderPage(OffersPage, { at, path: "/offers", me });
const classes = () => screen.getAllByRole("heading", { level: 2 }).map((heading) => heading.textContent);

test("each class says what is enforced, what is simulated, its price and its sizes", async () => {
  serve("get", "/offers", pageOf(SHELF));
  await open();
  const nvidia = within(await screen.findByRole("region", { name: "NVIDIA GPU" }));
  expect(nvidia.getByText("Simulated")).toBeVisible();
  expect(nvidia.getByText(/Limits hold for well-behaved programs/)).toBeVisible();
  expect(nvidia.getByText("1.00 EUR")).toBeVisible();
  expect(nvidia.getByText("96 of 100", { exact: false })).toBeVisible();
  expect(nvidia.getByRole("rowheader", { name: "1/8" })).toBeVisible();
  expect(nvidia.getByRole("img", { name: /Price per device and hour over the last 24 hours/ })).toBeVisible();
  // An eighth of its compute, and an eighth of its memory: an eighth of the price.
  expect(nvidia.getByRole("cell", { name: /^0.125/ })).toBeVisible();
  expect(nvidia.getByRole("link", { name: /Reserve 1\/8 .* of NVIDIA GPU/ })).toHaveAttribute("href", "/reserve?offer=off_3");
});

test("what is unknown is n/a with its reason, never zero, and what is not sold says so", async () => {
  serve("get", "/offers", pageOf(SHELF));
  await open();
  const cpu = within(await screen.findByRole("region", { name: "CPU" }));
  expect(cpu.getByText("Not sold now")).toBeVisible();
  expect(cpu.getByText("No device answers")).toBeVisible();
  expect(cpu.getAllByText("n/a").length).toBeGreaterThanOrEqual(2);
  expect(cpu.queryByText(/^0/)).not.toBeInTheDocument();
});

test("cheapest and soonest order classes and sizes, and the address keeps it", async () => {
  serve("get", "/offers", pageOf(SHELF));
  const { user, router } = await open();
  await waitFor(() => expect(classes()).toEqual(["NVIDIA GPU", "OpenCL device", "CPU"]));
  await user.click(screen.getByRole("radio", { name: "Soonest" }));
  await waitFor(() => expect(classes()).toEqual(["OpenCL device", "NVIDIA GPU", "CPU"]));
  expect(router.state.location.search).toMatchObject({ sort: "soonest" });
});

test("a filter in the address narrows what is shown; one that matches nothing can be cleared", async () => {
  serve("get", "/offers", pageOf(SHELF));
  const { user } = await open("/offers?q=simulated");
  await waitFor(() => expect(classes()).toEqual(["NVIDIA GPU"]));
  await user.type(screen.getByRole("textbox", { name: "Filter" }), " nothing");
  await user.click(await screen.findByRole("button", { name: "Clear the filter" }));
  await waitFor(() => expect(classes()).toHaveLength(3));
});

test("an empty shelf says what to do next, to each who may do something", async () => {
  serve("get", "/offers", pageOf([]));
  await open("/offers", makeMe({ is_operator: true }));
  expect(await screen.findByText("Nothing is on sale yet")).toBeVisible();
  expect(screen.getByRole("link", { name: "Add a node" })).toHaveAttribute("href", "/nodes");
});

test("a shelf that cannot be read says why and is read again on demand", async () => {
  refuse("get", "/offers", 403, { code: "forbidden", title: "You may not do this." });
  const { user } = await open();
  expect(await screen.findByText("You may not do this.")).toBeVisible();
  serve("get", "/offers", pageOf(SHELF));
  await user.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("region", { name: "CPU" })).toBeVisible();
});
