/** Who listens to what on the live socket, and up to where each topic was read. */
import type { ClientFrame, TopicFrame, TopicListener } from "@/lib/live-frames";

type Topic = { listeners: Set<TopicListener>; seq: string | null; refused: boolean };

/** Metrics may be dropped: nobody looks at them in a hidden tab. */
const isMetrics = (topic: string) => topic.endsWith("/metrics");

export class LiveTopics {
  private readonly topics = new Map<string, Topic>();
  private hidden = false;

  get size(): number {
    return this.topics.size;
  }

  /** True when this is the topic's first listener. */
  add(name: string, listener: TopicListener): boolean {
    const known = this.topics.get(name);
    if (known) {
      known.listeners.add(listener);
      return false;
    }
    this.topics.set(name, { listeners: new Set([listener]), seq: null, refused: false });
    return true;
  }

  /** True when it was the topic's last listener. */
  remove(name: string, listener: TopicListener): boolean {
    const topic = this.topics.get(name);
    if (!topic?.listeners.delete(listener) || topic.listeners.size > 0) return false;
    this.topics.delete(name);
    return true;
  }

  isWanted(name: string): boolean {
    const topic = this.topics.get(name);
    return topic !== undefined && !topic.refused && !(this.hidden && isMetrics(name));
  }

  /** What to send so that a topic flows, from where it was read. */
  subscription(name: string): ClientFrame {
    const seq = this.topics.get(name)?.seq ?? null;
    return seq === null ? { type: "subscribe", topic: name } : { type: "subscribe", topic: name, since: seq };
  }

  wanted(): string[] {
    return [...this.topics.keys()].filter((name) => this.isWanted(name));
  }

  /** Notes whether the tab is hidden and says what to send for it. */
  setHidden(hidden: boolean): ClientFrame[] {
    if (hidden === this.hidden) return [];
    const metrics = [...this.topics.keys()].filter((name) => isMetrics(name) && !this.topics.get(name)?.refused);
    this.hidden = hidden;
    return metrics.map((name) => (hidden ? { type: "unsubscribe", topic: name } : this.subscription(name)));
  }

  /** A new set of rights: what was refused may be asked for again. */
  forgive(): void {
    for (const topic of this.topics.values()) topic.refused = false;
  }

  deliver(frame: TopicFrame): void {
    const topic = this.topics.get(frame.topic);
    // Sent before our unsubscribe arrived.
    if (!topic) return;
    const each = (tell: (listener: TopicListener) => void) => [...topic.listeners].forEach(tell);
    switch (frame.type) {
      case "snapshot":
        topic.seq = frame.seq;
        return each((listener) => listener.onSnapshot?.(frame.data));
      case "resumed":
        topic.seq = frame.seq;
        return;
      case "delta":
        topic.seq = frame.seq;
        return each((listener) => listener.onDelta?.(frame.data));
      case "metrics":
        if (this.hidden) return;
        return each((listener) => listener.onMetrics?.(frame.data, frame.at));
      case "gap":
        topic.seq = null;
        return each((listener) => listener.onGap?.());
      case "refused":
        // Worth another try soon (the client makes it): nobody needs to hear of it.
        if (frame.code === "unavailable") return;
        topic.refused = true;
        return each((listener) => listener.onRefused?.({ code: frame.code, detail: frame.detail }));
    }
  }
}
