/** Memory and compute of one device, held together by the device's own proportion. All in whole MiB and permille. */

export type Size = { memory_mib: number; share_permille: number };

/** The part of the device's memory, rounded up as the bill rounds it. */
export const memoryPermille = (memoryMib: number, deviceMib: number): number =>
  Math.ceil((memoryMib * 1000) / deviceMib);

/** What is paid for: the larger of both shares of the device. */
export const dominantPermille = (size: Size, deviceMib: number): number =>
  Math.max(size.share_permille, memoryPermille(size.memory_mib, deviceMib));

const within = (value: number, least: number, most: number) => Math.min(most, Math.max(least, value));

/** The compute share that goes with this much memory: as large as it can be without costing more. */
export const shareFor = (memoryMib: number, deviceMib: number): number =>
  within(memoryPermille(memoryMib, deviceMib), 1, 1000);

/** The memory that goes with this share, as much as it can be without costing more. */
export const memoryFor = (sharePermille: number, deviceMib: number): number =>
  within(Math.floor((sharePermille * deviceMib) / 1000), 1, deviceMib);

/** True when neither half could grow without the other. A MiB that rounding cost does not break the bond. */
export function isProportional(size: Size, deviceMib: number): boolean {
  const memory = memoryPermille(size.memory_mib, deviceMib);
  return Math.abs(memory - size.share_permille) <= 1;
}

export type Spare = { part: "memory"; memory_mib: number } | { part: "compute"; share_permille: number };

/** What could be had more of at the same price, because the other half is what is paid for; null when balanced. */
export function spareOf(size: Size, deviceMib: number, devicePermille = 1000): Spare | null {
  if (isProportional(size, deviceMib)) return null;
  const memory = memoryPermille(size.memory_mib, deviceMib);
  if (memory > size.share_permille) {
    const share_permille = within(memory, 1, devicePermille);
    return share_permille > size.share_permille ? { part: "compute", share_permille } : null;
  }
  return { part: "memory", memory_mib: memoryFor(size.share_permille, deviceMib) };
}

/** The step of a memory slider: a round size that gives some forty to a hundred stops. */
export function memoryStep(deviceMib: number): number {
  const steps = [1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096];
  return steps.find((step) => deviceMib / step <= 160) ?? 8192;
}

/** A slice of a device that is 1/8, 1/4, 1/2 or all of it. */
export const PRESETS = [
  { label: "1/8", permille: 125 },
  { label: "1/4", permille: 250 },
  { label: "1/2", permille: 500 },
  { label: "1", permille: 1000 },
] as const;

export const presetSize = (permille: number, deviceMib: number): Size => ({
  memory_mib: memoryFor(permille, deviceMib),
  share_permille: permille,
});
