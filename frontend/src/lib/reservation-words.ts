/** How a slice is called on screen. */
import type { Reservation } from "@/lib/reservation";
import { formatMemory, formatShare } from "@/lib/units";

type Slice = { memory_mib: number; share_permille: number };

export const sizeText = (slice: Slice): string => `${formatMemory(slice.memory_mib)} + ${formatShare(slice.share_permille)}`;

/** Its name, or its size when it has none. */
export const nameOf = (reservation: Pick<Reservation, "slice"> & { name?: string }): string =>
  reservation.name?.trim() || sizeText(reservation.slice);
