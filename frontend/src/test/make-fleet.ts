/** A small fleet as the server answers it: two racks, three nodes, five devices. */
import type { Schema } from "@/lib/api";

type Fleet = Schema<"Fleet">;

const READ_AT = new Date().toISOString();

export const NODE_IDS = ["nod_01k2v7x9qefh8r8x5m3n1p0s41", "nod_01k2v7x9qefh8r8x5m3n1p0s42", "nod_01k2v7x9qefh8r8x5m3n1p0s43"] as const;
export const deviceId = (index: number) => `dev_01k2v7x9qefh8r8x5m3n1p0s4${index}`;

const node = (index: 0 | 1 | 2, over: Partial<Schema<"FleetNode">> = {}): Schema<"FleetNode"> => ({
  id: NODE_IDS[index],
  hostname: `gpu-${index}`,
  rack: index < 2 ? "R01" : "R02",
  state: "active",
  online: true,
  last_seen_at: READ_AT,
  cordoned: false,
  standby: false,
  drain: "none",
  ...over,
});

export const slice = (over: Partial<Schema<"FleetSlice">> = {}): Schema<"FleetSlice"> => ({
  memory_mib: 20_480,
  share_permille: 250,
  use_permille: 200,
  mine: false,
  lease: null,
  state: "ready",
  ...over,
});

export function makeFleet(over: Partial<Schema<"FleetDevices">> = {}): Fleet {
  const count = 5;
  const all = <Value>(value: Value): Value[] => Array.from({ length: count }, () => value);
  return {
    as_of: READ_AT,
    stale_after_s: 30,
    racks: ["R01", "R02"],
    nodes: [node(0), node(1), node(2, { cordoned: true, drain: "draining" })],
    devices: {
      id: Array.from({ length: count }, (_, index) => deviceId(index)),
      node: [0, 0, 1, 2, 2],
      model: ["Simulated A100 80 GB", "Simulated A100 80 GB", "H200", "L40S", "L40S"],
      kind: all("nvidia" as const),
      simulated: [true, true, false, false, false],
      capacity_mib: all(81_920),
      capacity_permille: all(1000),
      present: all(true),
      health: [100, 30, null, 96, 70],
      use_permille: [200, null, 900, 0, 500],
      temperature_c: [40, 92, null, 50, 60],
      power_w: [120, null, null, 90, 300],
      read_at: [READ_AT, READ_AT, null, READ_AT, READ_AT],
      slices: [[slice({ mine: true, lease: "lse_01k2v7x9qefh8r8x5m3n1p0s4t" }), slice({ use_permille: null })], [], [slice()], [], [slice()]],
      ...over,
    },
  };
}

export function makeNode(over: Partial<Schema<"Node">> = {}): Schema<"Node"> {
  return {
    id: NODE_IDS[0],
    hostname: "gpu-0",
    rack: "R01",
    pool: "",
    site: "",
    host_cores_milli: null,
    host_mib: null,
    agent_version: "1.0",
    state: "active",
    online: true,
    last_seen_at: READ_AT,
    clock_offset_ms: 3,
    created_at: READ_AT,
    cordoned: false,
    standby: false,
    settling_since: null,
    drain: { state: "none", started_at: null, drained_at: null, reason: "", started_by: "" },
    device_count: 2,
    lease_count: 2,
    ...over,
  };
}

export function makeImpact(over: Partial<Schema<"Impact">> = {}): Schema<"Impact"> {
  const row = {
    lease: "lse_01k2v7x9qefh8r8x5m3n1p0s4t",
    owner: "01950000-0000-7000-8000-000000000001",
    tenant: "ten_01k2v7x9qefh8r8x5m3n1p0s4t",
    device: deviceId(0),
    state: "ready" as const,
    slice: { memory_mib: 20_480, share_permille: 250 },
    starts_at: READ_AT,
    ends_at: null,
    stays: null,
  };
  return { node: NODE_IDS[0], at: READ_AT, leases: [row], reservations_future: [], affected_tenants: 1, ...over };
}
