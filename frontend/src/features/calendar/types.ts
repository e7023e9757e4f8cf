/** What the calendar draws, as the server says it. */
export type Size = { memory_mib: number; share_permille: number };
export type Piece = {
  starts_at: string; ends_at: string | null; memory_mib: number; share_permille: number; lane: number; mine: boolean;
  reservation: string | null; state: string | null; project: string | null;
};
export type Maintenance = { starts_at: string; ends_at: string | null; reason: string };
export type Item = {
  device: string; node: string; rack: string; hostname: string; model: string; kind: string; simulated: boolean;
  online: boolean; isolation: string; capacity_mib: number; capacity_permille: number; cordoned: boolean;
  free: { starts_at: string; ends_at: string | null }[]; pieces: Piece[]; maintenance: Maintenance[];
};
export type Alternative = { starts_at: string; ends_at: string | null; device: string | null; slice: Size };
