import type { SessionEnd } from "@/lib/session-end";

export type LoginSearch = { /** Where to go afterwards: a path of this console. */ next?: string; why?: SessionEnd };

const REASONS: SessionEnd[] = ["expired", "revoked", "signed_out"];

/** Only a path of our own: `//elsewhere.example` and `https:` would lead a new session away. */
export function isOwnPath(path: string): boolean {
  return /^\/(?![/\\])/.test(path) && !path.startsWith("/login");
}

export function loginSearch(raw: Record<string, unknown>): LoginSearch {
  const { next, why } = raw;
  return {
    next: typeof next === "string" && isOwnPath(next) ? next : undefined,
    why: REASONS.find((reason) => reason === why),
  };
}
