import { useT, type MessageKey } from "@/lib/i18n";
import type { IconName } from "@/components/icon";
import { Hint } from "@/components/hint";
import { ToneBadge, type Tone } from "@/components/tone-badge";

type IsolationBadgeProps = {
  mode: string;
  /** What the node says about it, in its own words. */
  detail?: string | null;
  simulated?: boolean;
  /** Show the sentence beside the badge, not only on hover. */
  explained?: boolean;
};

const LOOKS: Record<string, { name: MessageKey; why: MessageKey; tone: Tone; icon: IconName }> = {
  exclusive: { name: "isolation.exclusive", why: "isolation.exclusive_why", tone: "good", icon: "shield" },
  mig: { name: "isolation.mig", why: "isolation.mig_why", tone: "good", icon: "shield" },
  mps: { name: "isolation.mps", why: "isolation.mps_why", tone: "busy", icon: "shieldHalf" },
  "limiter-strict": {
    name: "isolation.limiter_strict",
    why: "isolation.limiter_strict_why",
    tone: "good",
    icon: "shield",
  },
  "limiter-advisory": {
    name: "isolation.limiter_advisory",
    why: "isolation.limiter_advisory_why",
    tone: "wait",
    icon: "shieldHalf",
  },
};

/** What keeps a slice apart from others, in one sentence, before anybody pays for it. */
export function IsolationBadge({ mode, detail, simulated = false, explained = false }: IsolationBadgeProps) {
  const t = useT();
  const look = LOOKS[mode];
  const word = look ? t(look.name) : mode;
  const sentence = [look ? t(look.why) : (detail ?? ""), simulated ? t("isolation.simulated_why") : ""].join(" ").trim();
  const badge = <ToneBadge tone={look?.tone ?? "calm"} icon={look?.icon ?? "shieldHalf"} word={word} />;
  if (explained) {
    return (
      <span style={{ display: "inline-flex", flexWrap: "wrap", alignItems: "baseline", gap: 8 }}>
        {badge}
        <span style={{ fontSize: 12, color: "var(--mantine-color-dimmed)" }}>{sentence}</span>
      </span>
    );
  }
  return <Hint text={detail && look ? `${sentence} ${detail}` : sentence}>{badge}</Hint>;
}
