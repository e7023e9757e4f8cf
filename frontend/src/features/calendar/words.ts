/** How periods and sizes are said on this page. */
import type { Translate } from "@/lib/i18n";
import { formatInstant } from "@/lib/time-format";
import { formatDuration, formatMemory, formatShare } from "@/lib/units";
import { dateOf, type Span } from "./range";
import type { Size } from "./types";

/** "10:00 – 12:00", with the day where it is not the one of the start. */
export function timesOf({ from, to }: Span, zone: string): string {
  const isSameDay = dateOf(from, zone) === dateOf(to, zone);
  return `${formatInstant(from, zone, "time")} – ${formatInstant(to, zone, isSameDay ? "time" : "short")}`;
}

/** "Mon, 30 Nov, 10:00 – 12:00 (2 h)" */
export function periodOf(span: Span, zone: string): string {
  const day = formatInstant(span.from, zone, "date");
  return `${day}, ${timesOf(span, zone)} (${formatDuration((span.to - span.from) / 1000)})`;
}

export const sizeOf = (size: Size): string => `${formatMemory(size.memory_mib)}, ${formatShare(size.share_permille)}`;

/** An id's last letters: enough to tell two devices of a node apart. */
export const tailOf = (id: string): string => `…${id.slice(-6)}`;

export const deviceName = (t: Translate, device: { model: string; device: string } | undefined, id: string | null) =>
  id === null ? t("calendar.any_device") : device ? `${device.model} ${tailOf(device.device)}` : id;
