import { Icon, type IconName } from "@/components/icon";
import classes from "@/components/badge.module.css";

/** good: as wished; busy: under way; wait: needs time or care; bad: failed; calm: over, or neutral. */
export type Tone = "good" | "busy" | "wait" | "bad" | "calm";

type ToneBadgeProps = { tone: Tone; icon: IconName; word: string };

/** A state told three ways: icon, word and colour. */
export function ToneBadge({ tone, icon, word }: ToneBadgeProps) {
  return (
    <span className={`${classes.badge} ${classes[tone]}`}>
      <Icon name={icon} size={12} />
      {word}
    </span>
  );
}
