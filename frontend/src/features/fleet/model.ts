/** The fleet as the server sends it, and what is read out of it. */
import type { Schema } from "@/lib/api";

export type Fleet = Schema<"Fleet">;
export type FleetNode = Schema<"FleetNode">;
export type FleetSlice = Schema<"FleetSlice">;

export const METRICS = ["use", "allocated", "temperature", "power", "health"] as const;
export type Metric = (typeof METRICS)[number];

/** The figures of a device that change from second to second. */
export type Figures = {
  id: string;
  health: number | null;
  use_permille: number | null;
  temperature_c: number | null;
  power_w: number | null;
  read_at: string;
};

/** One device, out of the columns. */
export type Device = {
  index: number;
  id: string;
  node: FleetNode;
  model: string;
  kind: string;
  simulated: boolean;
  capacity_mib: number;
  health: number | null;
  use_permille: number | null;
  temperature_c: number | null;
  power_w: number | null;
  read_at: string | null;
  slices: FleetSlice[];
  /** Its node is silent, or it was not read of late: what is shown is old. */
  stale: boolean;
};

const NOWHERE: FleetNode = {
  id: "",
  hostname: "",
  rack: "",
  state: "active",
  online: false,
  last_seen_at: null,
  cordoned: false,
  standby: false,
  drain: "none",
};

export function isStale(fleet: Fleet, index: number, now: number): boolean {
  const node = fleet.nodes[fleet.devices.node[index] ?? -1];
  const readAt = fleet.devices.read_at[index];
  if (!node?.online || !fleet.devices.present[index] || !readAt) return true;
  return now - Date.parse(readAt) > fleet.stale_after_s * 1000;
}

export function deviceAt(fleet: Fleet, index: number, now: number): Device {
  const column = fleet.devices;
  return {
    index,
    id: column.id[index] ?? "",
    node: fleet.nodes[column.node[index] ?? -1] ?? NOWHERE,
    model: column.model[index] ?? "",
    kind: column.kind[index] ?? "",
    simulated: column.simulated[index] ?? false,
    capacity_mib: column.capacity_mib[index] ?? 0,
    health: column.health[index] ?? null,
    use_permille: column.use_permille[index] ?? null,
    temperature_c: column.temperature_c[index] ?? null,
    power_w: column.power_w[index] ?? null,
    read_at: column.read_at[index] ?? null,
    slices: column.slices[index] ?? [],
    stale: isStale(fleet, index, now),
  };
}

export const devicesOf = (fleet: Fleet, now: number): Device[] =>
  fleet.devices.id.map((_, index) => deviceAt(fleet, index, now));

/** The larger of compute and memory that is taken, in permille of the device: what cannot be sold any more. */
export function allocatedPermille(slices: readonly FleetSlice[], capacityMib: number): number {
  let compute = 0;
  let memory = 0;
  for (const slice of slices) {
    compute += slice.share_permille;
    memory += slice.memory_mib;
  }
  return Math.min(1000, Math.max(compute, capacityMib > 0 ? Math.round((memory * 1000) / capacityMib) : 0));
}

export const freeMib = (device: Device): number =>
  Math.max(0, device.capacity_mib - device.slices.reduce((sum, slice) => sum + slice.memory_mib, 0));

/** How much of its own share a slice uses, 0 to 1; null when nobody knows. */
export function sliceUse(slice: FleetSlice): number | null {
  return slice.use_permille === null || slice.share_permille <= 0
    ? null
    : Math.min(1, slice.use_permille / slice.share_permille);
}

/** A metric of a device in its own unit (%, degrees, W, points); null when nobody knows. */
export function metricOf(fleet: Fleet, index: number, metric: Metric): number | null {
  const column = fleet.devices;
  switch (metric) {
    case "use": {
      const use = column.use_permille[index] ?? null;
      return use === null ? null : use / 10;
    }
    case "allocated":
      return allocatedPermille(column.slices[index] ?? [], column.capacity_mib[index] ?? 0) / 10;
    case "temperature":
      return column.temperature_c[index] ?? null;
    case "power":
      return column.power_w[index] ?? null;
    case "health":
      return column.health[index] ?? null;
  }
}

export type Range = { low: number; high: number };

/** From where to where a metric's colours run. */
export function rangeOf(fleet: Fleet, metric: Metric): Range {
  if (metric === "temperature") return { low: 30, high: 100 };
  if (metric !== "power") return { low: 0, high: 100 };
  const most = fleet.devices.power_w.reduce<number>((top, watts) => Math.max(top, watts ?? 0), 0);
  return { low: 0, high: Math.max(100, Math.ceil(most / 100) * 100) };
}

/** Below this a device is marked on the map and counted as unwell. */
export const WELL = 80;
export const ILL = 50;

export type Totals = {
  devices: number;
  simulated: number;
  stale: number;
  unwell: number;
  closed: number;
  allocated: number | null;
  use: number | null;
};

export function totalsOf(devices: readonly Device[]): Totals {
  const read = devices.filter((device) => device.use_permille !== null && !device.stale);
  const mean = (values: number[]) => (values.length ? Math.round(values.reduce((a, b) => a + b, 0) / values.length) : null);
  return {
    devices: devices.length,
    simulated: devices.filter((device) => device.simulated).length,
    stale: devices.filter((device) => device.stale).length,
    unwell: devices.filter((device) => device.health !== null && device.health < WELL).length,
    closed: devices.filter((device) => device.node.cordoned).length,
    allocated: mean(devices.map((device) => allocatedPermille(device.slices, device.capacity_mib))),
    use: mean(read.map((device) => device.use_permille ?? 0)),
  };
}

/** Whether a filter's words are all found on the device. */
export function matches(device: Device, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${device.model} ${device.node.rack} ${device.node.hostname} ${device.kind} ${device.id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The fleet with newer figures; the same object when none of them is known. */
export function withFigures(fleet: Fleet, news: readonly Figures[]): Fleet {
  const byId = new Map(news.map((figures) => [figures.id, figures]));
  const column = fleet.devices;
  const places = column.id.flatMap((id, index) => (byId.has(id) ? [index] : []));
  if (places.length === 0) return fleet;
  const patched = <Name extends keyof Figures & keyof Fleet["devices"]>(name: Name) => {
    const values = [...column[name]] as Fleet["devices"][Name];
    for (const index of places) {
      const figures = byId.get(column.id[index] ?? "");
      if (figures) (values as unknown[])[index] = figures[name];
    }
    return values;
  };
  const devices = {
    ...column,
    health: patched("health"),
    use_permille: patched("use_permille"),
    temperature_c: patched("temperature_c"),
    power_w: patched("power_w"),
    read_at: patched("read_at"),
  };
  return { ...fleet, devices };
}
