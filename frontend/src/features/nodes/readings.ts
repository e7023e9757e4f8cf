/** A device's readings, as old as they are. */
import type { Schema } from "@/lib/api";
import { serverNow } from "@/lib/clock";
import type { MessageKey } from "@/lib/i18n";
import { formatMemory, formatNumber, formatShare } from "@/lib/units";

type Reading = Schema<"Reading">;

/** A reading that is older says nothing of now. */
export const FRESH_MS = 30_000;

export function toReading(device: Schema<"Device">, name: string): Reading | null {
  const reading = device.readings[name];
  if (!reading) return null;
  const isOld = reading.at !== null && serverNow() - Date.parse(reading.at) > FRESH_MS;
  return isOld && reading.value !== null ? { ...reading, quality: "stale" } : reading;
}

type Known = { label: MessageKey; format: (value: number) => string };

export const READINGS: Record<string, Known> = {
  utilization_permille: { label: "nodes.use", format: formatShare },
  memory_used_mib: { label: "nodes.used_memory", format: formatMemory },
  temperature_c: { label: "nodes.temperature", format: (value) => `${formatNumber(value)} °C` },
  power_mw: { label: "nodes.power", format: (value) => `${formatNumber(value / 1000)} W` },
  energy_mj: { label: "nodes.energy", format: (value) => `${formatNumber(value / 3_600_000_000, 2)} kWh` },
  sm_clock_mhz: { label: "nodes.clock_rate", format: (value) => `${formatNumber(value)} MHz` },
  ecc_uncorrected: { label: "nodes.ecc", format: (value) => formatNumber(value) },
  ecc_corrected: { label: "nodes.ecc_corrected", format: (value) => formatNumber(value) },
  memory_clock_mhz: { label: "nodes.memory_clock", format: (value) => `${formatNumber(value)} MHz` },
  memory_utilization_permille: { label: "nodes.memory_traffic", format: formatShare },
  power_limit_mw: { label: "nodes.power_limit", format: (value) => `${formatNumber(value / 1000)} W` },
  throttle_reasons: { label: "nodes.throttle_reasons", format: (value) => `0x${value.toString(16)}` },
  xid_last: { label: "nodes.xid_last", format: (value) => formatNumber(value) },
  memory_temperature_c: { label: "nodes.memory_temperature", format: (value) => `${formatNumber(value)} °C` },
  sm_clock_max_mhz: { label: "nodes.clock_max", format: (value) => `${formatNumber(value)} MHz` },
  fan_permille: { label: "nodes.fan", format: formatShare },
  pcie_width: { label: "nodes.pcie_width", format: (value) => formatNumber(value) },
  pcie_width_max: { label: "nodes.pcie_width_max", format: (value) => formatNumber(value) },
  pcie_generation: { label: "nodes.pcie_generation", format: (value) => formatNumber(value) },
  pcie_generation_max: { label: "nodes.pcie_generation_max", format: (value) => formatNumber(value) },
  memory_repairs: { label: "nodes.memory_repairs", format: (value) => formatNumber(value) },
  memory_repair_pending: { label: "nodes.memory_repair_pending", format: (value) => formatNumber(value) },
  memory_repair_failed: { label: "nodes.memory_repair_failed", format: (value) => formatNumber(value) },
  nvlink_errors: { label: "nodes.nvlink_errors", format: (value) => formatNumber(value) },
  mig_enabled: { label: "nodes.mig_enabled", format: (value) => formatNumber(value) },
};
