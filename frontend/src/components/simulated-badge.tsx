import { useT } from "@/lib/i18n";
import { Hint } from "@/components/hint";
import { ToneBadge } from "@/components/tone-badge";

/** Says that no real hardware is behind something. */
export function SimulatedBadge() {
  const t = useT();
  return (
    <Hint text={t("common.simulated_why")}>
      <ToneBadge tone="wait" icon="flask" word={t("common.simulated")} />
    </Hint>
  );
}
