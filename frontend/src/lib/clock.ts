/** The server's clock, learnt from the Date header of answers: a wrong clock on this machine changes no countdown. */

// The offset (server - client, in ms) lies between these two.
let low = Number.NEGATIVE_INFINITY;
let high = Number.POSITIVE_INFINITY;

/**
 * Takes one Date header (whole seconds) of an answer to a request that was sent and answered at these client times.
 * Each answer narrows the range; one that contradicts it (somebody set the clock) starts afresh.
 */
export function noteServerDate(header: string | null, sentAt: number, receivedAt: number): void {
  const second = header === null ? Number.NaN : Date.parse(header);
  if (Number.isNaN(second)) return;
  const from = second - receivedAt;
  const until = second + 1000 - sentAt;
  low = Math.max(low, from);
  high = Math.min(high, until);
  if (low > high) [low, high] = [from, until];
}

/** Milliseconds to add to this machine's clock; 0 while nothing speaks against it. */
export function serverOffset(): number {
  if (low <= 0 && high >= 0) return 0;
  return Math.round((low + high) / 2);
}

/** Now by the server's clock, in ms since the epoch. */
export function serverNow(): number {
  return Date.now() + serverOffset();
}

/** For tests: forget what was learnt. */
export function forgetServerDate(): void {
  low = Number.NEGATIVE_INFINITY;
  high = Number.POSITIVE_INFINITY;
}
