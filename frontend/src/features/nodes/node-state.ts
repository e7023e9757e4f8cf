import type { Node } from "@/hooks/use-nodes";

/** The one word for a node: the worst first. */
export function stateOf(node: Node): string {
  if (node.state === "revoked") return "revoked";
  if (!node.online) return node.last_seen_at === null ? "enrolled" : "offline";
  if (node.drain.state === "draining" || node.drain.state === "drained") return node.drain.state;
  if (node.cordoned) return "cordoned";
  return node.settling_since !== null ? "settling" : node.standby ? "standby" : "online";
}
