/** Why this tab's session ended, told by whoever notices first: an answer 401 or the socket. */
import { signal } from "@/lib/signal";

export type SessionEnd = "expired" | "revoked" | "signed_out";

export const sessionEnd = signal<SessionEnd | null>(null);
