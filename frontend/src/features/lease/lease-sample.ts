/** What the topic `lease/{id}/metrics` sends (docs/live.md). */
export type LiveQuality = "measured" | "estimated" | "stale" | "unavailable";
export type LiveReading = { value: number | null; at: string | null; quality: LiveQuality };

export type LeaseSample = {
  at: string;
  memory_mib: LiveReading;
  memory_limit_mib: number;
  compute_permille: LiveReading;
  compute_limit_permille: number;
  throttled_permille: LiveReading;
  power_mw: LiveReading;
  processes: number | null;
};
