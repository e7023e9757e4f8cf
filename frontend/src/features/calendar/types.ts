/** What the calendar draws, as the server says it. */
import type { Schema } from "@/lib/api";

export type Size = Schema<"SliceInRequest">;
export type Alternative = Schema<"Alternative">;
/** The state of what is not the viewer's is not told. */
export type Piece = Omit<Schema<"Piece">, "state"> & { state: Schema<"ReservationState"> | null };
export type Item = Omit<Schema<"DeviceCalendar">, "pieces"> & { pieces: Piece[] };
