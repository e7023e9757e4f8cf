/** What there is to choose from: device classes with their sizes and offers, and what is chosen when nothing is. */
import { memoryFor, PRESETS, presetSize, shareFor, type Size } from "@/features/reserve/proportion";
import type { ReserveSearch } from "@/features/reserve/search";
import type { Device } from "@/hooks/use-devices";
import type { Offer } from "@/hooks/use-offers";

export type DeviceClass = {
  kind: string;
  /** Memory of its largest device that answers, and the compute that can be sold of it: the sliders' scale. */
  device_mib: number;
  device_permille: number;
  online: number;
  offers: Offer[];
};

export type Shelf = { offers: Offer[]; devices: Device[] };

const answering = (devices: Device[]): Device[] => {
  const online = devices.filter((device) => device.online);
  return online.length > 0 ? online : devices;
};

const wholeOf = ({ slice }: Offer) => Math.floor((slice.memory_mib * 1000) / slice.share_permille);

function scaleOf(devices: Device[], offers: Offer[]): number {
  const sizes = answering(devices).map((device) => device.capacity_mib);
  return Math.max(0, ...(sizes.length > 0 ? sizes : offers.map(wholeOf)));
}

/** Classes with devices that answer come first. */
export function classesOf({ offers, devices }: Shelf): DeviceClass[] {
  const kinds = [...new Set([...devices.map((device) => device.kind), ...offers.map((offer) => offer.device_kind)])];
  return kinds
    .map((kind) => {
      const own = devices.filter((device) => device.kind === kind);
      const sold = offers.filter((offer) => offer.device_kind === kind);
      const online = Math.max(own.filter((device) => device.online).length, ...sold.map((offer) => offer.devices_online));
      const permille = answering(own).map((device) => device.capacity_permille);
      const device_permille = permille.length > 0 ? Math.max(...permille) : 1000;
      return { kind, device_mib: scaleOf(own, sold), device_permille, online, offers: sold };
    })
    .filter((one) => one.device_mib > 0)
    .sort((a, b) => Number(b.online > 0) - Number(a.online > 0) || (a.kind < b.kind ? -1 : 1));
}

/** The memory that the sliders end at: of the chosen device, of the chosen class, or of the largest device. */
export function scaleFor(search: ReserveSearch, classes: DeviceClass[], device: Device | undefined): number {
  if (device && device.id === search.device) return device.capacity_mib;
  const kind = kindOf(search, classes);
  const own = classes.find((one) => one.kind === kind);
  return own?.device_mib ?? Math.max(0, ...classes.map((one) => one.device_mib));
}

/** The compute that the sliders end at, likewise: a device may be sold in part. */
export function computeScaleFor(search: ReserveSearch, classes: DeviceClass[], device: Device | undefined): number {
  if (device && device.id === search.device) return device.capacity_permille;
  const own = classes.find((one) => one.kind === kindOf(search, classes));
  return own?.device_permille ?? Math.max(1, ...classes.map((one) => one.device_permille));
}

export const offerOf = (search: ReserveSearch, classes: DeviceClass[]): Offer | undefined =>
  search.offer === undefined ? undefined : classes.flatMap((one) => one.offers).find((one) => one.id === search.offer);

/** The class that is chosen, by name or by an offer; null is any. */
export const kindOf = (search: ReserveSearch, classes: DeviceClass[]): string | null =>
  search.device_kind ?? offerOf(search, classes)?.device_kind ?? null;

export function sizeOf(search: ReserveSearch, classes: DeviceClass[]): Size | null {
  const offer = offerOf(search, classes);
  if (offer) return { memory_mib: offer.slice.memory_mib, share_permille: offer.slice.share_permille };
  const { memory_mib, share_permille } = search;
  return memory_mib && share_permille ? { memory_mib, share_permille } : null;
}

const USUAL = 250;

/** A quarter of the first class that answers and has a price, as its offer if there is one. */
function usual(classes: DeviceClass[]): ReserveSearch {
  const [first] = classes;
  if (!first) return {};
  const priced = first.offers.filter((offer) => offer.price !== null);
  const away = (offer: Offer) => Math.abs(offer.slice.share_permille - USUAL);
  const [offer] = [...(priced.length > 0 ? priced : first.offers)].sort((a, b) => away(a) - away(b));
  if (offer) return { offer: offer.id };
  return { ...presetSize(USUAL, first.device_mib), device_kind: first.kind };
}

/** The choice with its gaps filled: half a size gets its other half, no size the usual one. */
export function withDefaults(search: ReserveSearch, classes: DeviceClass[], scale: number): ReserveSearch {
  const { memory_mib, share_permille } = search;
  if (search.offer !== undefined && offerOf(search, classes)) {
    return { ...search, memory_mib: undefined, share_permille: undefined };
  }
  const rest = { ...search, offer: undefined };
  if (memory_mib && share_permille) return rest;
  if (memory_mib && scale > 0) return { ...rest, share_permille: shareFor(memory_mib, scale) };
  if (share_permille && scale > 0) return { ...rest, memory_mib: memoryFor(share_permille, scale) };
  if (rest.device_kind || rest.device) return scale > 0 ? { ...rest, ...presetSize(USUAL, scale) } : rest;
  return { ...rest, ...usual(classes) };
}

export type Preset = { label: string; size: Size; offer: Offer | null };

/** One-click sizes: the class's offers where there are any, else eighths of the device. */
export function presetsFor(search: ReserveSearch, classes: DeviceClass[], scale: number): Preset[] {
  const kind = kindOf(search, classes);
  const offers = classes.find((one) => one.kind === kind)?.offers ?? [];
  if (offers.length > 0 && search.device === undefined) {
    return [...offers]
      .sort((a, b) => a.slice.share_permille - b.slice.share_permille)
      .map((offer) => ({ label: presetName(offer), size: offer.slice, offer }));
  }
  return PRESETS.map(({ label, permille }) => ({ label, size: presetSize(permille, scale), offer: null }));
}

/** "1/4", or what the shelf calls it. */
export const presetName = (offer: Offer): string => offer.preset ?? (offer.profile || offer.title);
