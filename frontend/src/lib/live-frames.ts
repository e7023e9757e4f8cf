/** What travels over the live socket (docs/live.md). */
export type ClientFrame =
  | { type: "hello"; ticket: string; v: 1 }
  | { type: "subscribe"; topic: string; since?: string }
  | { type: "unsubscribe"; topic: string }
  | { type: "ping" };

export type ServerFrame =
  | { type: "welcome"; session?: string; heartbeat_s: number }
  | { type: "snapshot"; topic: string; seq: string; data: unknown }
  | { type: "resumed"; topic: string; seq: string }
  | { type: "delta"; topic: string; seq: string; data: unknown }
  | { type: "metrics"; topic: string; at: string; data: unknown }
  | { type: "gap"; topic: string }
  | { type: "refused"; topic: string; code: string; detail: string }
  | { type: "status"; live: boolean }
  | { type: "ping" }
  | { type: "pong" };

/** A frame that is about one topic. */
export type TopicFrame = Extract<ServerFrame, { topic: string }>;

/** A frame, or null for what is none. A type that we do not know is none: a newer server may send more. */
export function readFrame(raw: unknown): ServerFrame | null {
  if (typeof raw !== "string") return null;
  try {
    const frame: unknown = JSON.parse(raw);
    if (typeof frame !== "object" || frame === null || !("type" in frame)) return null;
    return frame as ServerFrame;
  } catch {
    // Not JSON: nothing that our server sends.
    return null;
  }
}

export type Refusal = { code: string; detail: string };

export type TopicListener = {
  onSnapshot?: (data: unknown) => void;
  onDelta?: (data: unknown) => void;
  onMetrics?: (data: unknown, at: string) => void;
  /** Something was missed and cannot be replayed: fetch again. */
  onGap?: () => void;
  onRefused?: (refusal: Refusal) => void;
};
