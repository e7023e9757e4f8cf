/**
 * The tab's one live socket: a ticket, hello, subscriptions; it comes back by itself and resumes where it stopped.
 * Close 4401 ends the session; 4403 says that the caller's rights changed.
 */
import { readFrame, type ClientFrame, type ServerFrame, type TopicListener } from "@/lib/live-frames";
import { LiveTopics } from "@/lib/live-topics";
import { Problem } from "@/lib/problem";
import { signal } from "@/lib/signal";

/** `off`: nobody listens; `ended`: the session is over and nothing will be tried again. */
export type LiveStatus = "off" | "connecting" | "live" | "reconnecting" | "ended";

export type LiveOptions = {
  ticket: () => Promise<{ ticket: string; url: string }>;
  onSessionEnd: () => void;
  onRightsChanged: () => void;
  random?: () => number;
};

const UNAUTHENTICATED = 4401;
const FORBIDDEN = 4403;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** A page change ends one subscription and begins the next: the socket outlives the moment between. */
const LINGER_MS = 10_000;
/** When a topic could not be opened just now. */
const ASK_AGAIN_MS = 5_000;
/** No answer to hello for so long is no connection. */
const PATIENCE_MS = 10_000;

export class LiveClient {
  readonly status = signal<LiveStatus>("off");
  private readonly topics = new LiveTopics();
  private readonly options: LiveOptions;
  private socket: WebSocket | null = null;
  /** The server has taken our hello on this socket. */
  private isWelcome = false;
  private failures = 0;
  /** Counts attempts: the answer to an abandoned one is ignored. */
  private attempt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private heartbeatMs = 15_000;
  private detach: () => void = () => undefined;

  constructor(options: LiveOptions) {
    this.options = options;
  }

  /** Follows the tab's visibility and the network's return. What was subscribed before flows on. */
  start(): void {
    this.detach();
    const visibility = () => this.topics.setHidden(document.hidden).forEach((frame) => this.send(frame));
    const online = () => this.retryNow();
    document.addEventListener("visibilitychange", visibility);
    window.addEventListener("online", online);
    this.detach = () => {
      document.removeEventListener("visibilitychange", visibility);
      window.removeEventListener("online", online);
    };
    if (this.topics.size > 0 && this.status.get() === "off") this.connect();
  }

  /** Listens to a topic until the returned function is called. */
  subscribe(name: string, listener: TopicListener): () => void {
    const isFirst = this.topics.add(name, listener);
    if (this.status.get() === "off") this.connect();
    else if (isFirst) this.ask(name);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (this.topics.remove(name, listener)) this.send({ type: "unsubscribe", topic: name });
      if (this.topics.size === 0) setTimeout(() => this.rest(), LINGER_MS);
    };
  }

  /** Hangs up; a later `start` or `subscribe` begins anew. */
  close(): void {
    this.detach();
    this.drop("off");
  }

  /** After the caller's rights changed, or on the user's wish. */
  retryNow(): void {
    if (this.status.get() === "reconnecting" && this.socket === null) this.connect();
  }

  private rest(): void {
    if (this.topics.size === 0 && this.status.get() !== "ended") this.drop("off");
  }

  private drop(status: LiveStatus): void {
    this.attempt += 1;
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.status.set(status);
  }

  private connect(): void {
    clearTimeout(this.timer);
    const attempt = ++this.attempt;
    if (this.status.get() === "off") this.status.set("connecting");
    this.options.ticket().then(
      ({ ticket, url }) => attempt === this.attempt && this.open(url, ticket),
      (thrown: unknown) => attempt === this.attempt && this.refusedTicket(thrown),
    );
  }

  private refusedTicket(thrown: unknown): void {
    if (thrown instanceof Problem && thrown.status === 401) return this.endSession();
    this.later();
  }

  private open(url: string, ticket: string): void {
    const socket = new WebSocket(url);
    this.socket = socket;
    this.isWelcome = false;
    this.watch(PATIENCE_MS);
    socket.onopen = () => socket.send(JSON.stringify({ type: "hello", ticket, v: 1 } satisfies ClientFrame));
    socket.onmessage = (event) => {
      if (socket !== this.socket) return;
      this.watch(this.heartbeatMs * 2.5);
      const frame = readFrame(event.data);
      if (frame) this.take(frame);
    };
    socket.onclose = (event) => {
      if (socket === this.socket) this.closed(event.code);
    };
  }

  private take(frame: ServerFrame): void {
    switch (frame.type) {
      case "ping":
        return this.send({ type: "ping" });
      case "welcome":
        return this.welcomed(frame.heartbeat_s);
      case "status":
        // The server itself hears no news at present: what is on screen may be old.
        return this.status.set(frame.live ? "live" : "reconnecting");
      case "snapshot":
      case "resumed":
      case "delta":
      case "metrics":
      case "gap":
        return this.topics.deliver(frame);
      case "refused":
        this.topics.deliver(frame);
        if (frame.code === "unavailable") setTimeout(() => this.ask(frame.topic), ASK_AGAIN_MS);
    }
  }

  private ask(topic: string): void {
    if (this.topics.isWanted(topic)) this.send(this.topics.subscription(topic));
  }

  private welcomed(heartbeatS: number): void {
    this.isWelcome = true;
    this.heartbeatMs = heartbeatS * 1000;
    this.watch(this.heartbeatMs * 2.5);
    this.failures = 0;
    this.status.set("live");
    for (const name of this.topics.wanted()) this.send(this.topics.subscription(name));
  }

  private closed(code: number): void {
    this.socket = null;
    clearTimeout(this.watchdog);
    if (code === UNAUTHENTICATED) return this.endSession();
    if (code === FORBIDDEN) {
      this.topics.forgive();
      this.options.onRightsChanged();
    }
    this.later();
  }

  private endSession(): void {
    this.drop("ended");
    this.options.onSessionEnd();
  }

  /** Tries again after a wait that doubles; jitter keeps a thousand tabs from coming back at once. */
  private later(): void {
    this.status.set("reconnecting");
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures);
    this.failures += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), wait * (0.5 + (this.options.random ?? Math.random)() / 2));
  }

  /** A socket that says nothing for too long is dead, whatever the system thinks of it. */
  private watch(ms: number): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      const socket = this.socket;
      this.closed(0);
      socket?.close();
    }, ms);
  }

  private send(frame: ClientFrame): void {
    if (this.isWelcome && this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(frame));
    }
  }
}
