import { useT, type MessageKey } from "@/lib/i18n";
import { ToneBadge, type Tone } from "@/components/tone-badge";
import type { IconName } from "@/components/icon";

const TONES: Record<string, Tone> = {
  active: "good",
  ready: "good",
  online: "good",
  enrolled: "good",
  paid: "good",
  open: "good",
  confirmed: "busy",
  held: "busy",
  assigned: "busy",
  preparing: "busy",
  activating: "busy",
  resizing: "busy",
  moving: "busy",
  ending: "busy",
  draining: "busy",
  issued: "busy",
  earlier_start_offered: "busy",
  quoted: "wait",
  queued: "wait",
  awaiting_approval: "wait",
  suspended: "wait",
  preempting: "wait",
  cordoned: "wait",
  settling: "wait",
  standby: "wait",
  maintenance: "wait",
  drained: "wait",
  planned: "wait",
  stale: "wait",
  preempted: "bad",
  rejected: "bad",
  failed: "bad",
  unreachable: "bad",
  lost: "bad",
  offline: "bad",
  unwell: "bad",
  revoked: "bad",
};

const ICONS: Record<Tone, IconName> = {
  good: "checkCircle",
  busy: "busy",
  wait: "clock",
  bad: "crossCircle",
  calm: "minus",
};

/** The state of a reservation, a lease, a node or an invoice. A state that we have no word for shows as it came. */
export function StateBadge({ state }: { state: string }) {
  const t = useT();
  const key = `state.${state}` as MessageKey;
  const word = t(key);
  const tone = TONES[state] ?? "calm";
  return <ToneBadge tone={tone} icon={ICONS[tone]} word={word === key ? state.replaceAll("_", " ") : word} />;
}
