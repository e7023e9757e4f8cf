import { useContext, useEffect, useEffectEvent, useState, useSyncExternalStore } from "react";
import { LiveContext } from "@/hooks/live-context";
import type { LiveStatus } from "@/lib/live";
import type { Refusal } from "@/lib/live-frames";

export type TopicStatus = "live" | "reconnecting" | "off";

export type TopicHandlers<Delta, Metrics> = {
  onSnapshot?: (data: Delta) => void;
  onDelta?: (data: Delta) => void;
  onMetrics?: (data: Metrics, at: string) => void;
  /** Something was missed: fetch again. */
  onGap?: () => void;
};

export type LiveTopic = {
  status: TopicStatus;
  /** What is on screen is not following the server at the moment. */
  stale: boolean;
  refusal: Refusal | null;
};

const nothing = () => () => undefined;
const WORDS: Record<LiveStatus, TopicStatus> = {
  off: "off",
  ended: "off",
  connecting: "reconnecting",
  reconnecting: "reconnecting",
  live: "live",
};

/** The state of the tab's socket as a whole. */
export function useLiveStatus(): TopicStatus {
  const client = useContext(LiveContext);
  const status = useSyncExternalStore(client?.status.subscribe ?? nothing, () => client?.status.get() ?? "off");
  return WORDS[status];
}

/** Follows a topic while the component is shown; null follows none. */
export function useLiveTopic<Delta = unknown, Metrics = unknown>(
  topic: string | null,
  handlers: TopicHandlers<Delta, Metrics>,
): LiveTopic {
  const client = useContext(LiveContext);
  const connection = useLiveStatus();
  const [refused, setRefused] = useState<{ topic: string; refusal: Refusal } | null>(null);
  const onSnapshot = useEffectEvent((data: unknown) => handlers.onSnapshot?.(data as Delta));
  const onDelta = useEffectEvent((data: unknown) => handlers.onDelta?.(data as Delta));
  const onMetrics = useEffectEvent((data: unknown, at: string) => handlers.onMetrics?.(data as Metrics, at));
  const onGap = useEffectEvent(() => handlers.onGap?.());

  useEffect(() => {
    if (!client || topic === null) return undefined;
    return client.subscribe(topic, {
      onSnapshot: (data) => onSnapshot(data),
      onDelta: (data) => onDelta(data),
      onMetrics: (data, at) => onMetrics(data, at),
      onGap: () => onGap(),
      onRefused: (refusal) => setRefused({ topic, refusal }),
    });
  }, [client, topic]);

  const refusal = refused?.topic === topic ? refused.refusal : null;
  const status = topic === null || refusal ? "off" : connection;
  return { status, stale: status !== "live", refusal };
}
