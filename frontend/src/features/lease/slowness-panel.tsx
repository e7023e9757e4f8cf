import { Button } from "@mantine/core";
import { betterSize, explain, recentWindows, type Finding } from "@/features/lease/slowness";
import { Icon, type IconName } from "@/components/icon";
import { Panel } from "@/components/panel";
import { useNow } from "@/hooks/use-now";
import type { Schema } from "@/lib/api";
import { useT, type Args } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { sizeText } from "@/lib/reservation-words";
import { formatMemory, formatShare } from "@/lib/units";
import classes from "@/features/lease/slowness-panel.module.css";

type Size = { memory_mib: number; share_permille: number };
type SlownessPanelProps = {
  reservation: Reservation;
  windows: readonly Schema<"Window">[];
  /** What the device has in all; null while unknown. */
  capacity: Size | null;
  /** Opens the resize with a size; absent where it cannot be resized. */
  onResize?: (size: Size) => void;
};

const ICONS: Record<Finding["kind"], IconName> = {
  throttled: "warning",
  contended: "warning",
  memory_full: "warning",
  not_ready: "clock",
  unused: "info",
  fine: "checkCircle",
  unknown: "info",
};

function argsOf(finding: Finding): Args {
  switch (finding.kind) {
    case "throttled":
      return { permille: formatShare(finding.permille), share: formatShare(finding.share_permille) };
    case "contended":
    case "not_ready":
      return { n: String(finding.windows), of: String(finding.of) };
    case "memory_full":
      return { peak: formatMemory(finding.peak_mib), memory: formatMemory(finding.memory_mib) };
    case "unused":
    case "fine":
      return { used: formatShare(finding.used_permille), share: formatShare(finding.share_permille) };
    case "unknown":
      return {};
  }
}

/** Why programs may be slower than hoped, from what was metered outside the slice, and what to do about it. */
export function SlownessPanel({ reservation, windows, capacity, onResize }: SlownessPanelProps) {
  const t = useT();
  const now = useNow(30_000);
  const recent = recentWindows(windows, now);
  return (
    <Panel title={t("lease.slow")} aside={<span className={classes.over}>{t("lease.slow_over", { n: String(recent.length) })}</span>}>
      <ul className={classes.findings}>
        {explain(recent, reservation.slice).map((finding) => {
          const better = capacity && betterSize(finding, reservation.slice, capacity);
          return (
            <li key={finding.kind} className={classes.finding}>
              <Icon name={ICONS[finding.kind]} size={20} />
              <div>
                <p className={classes.what}>{t(`lease.slow_${finding.kind}`, argsOf(finding))}</p>
                <p className={classes.next}>{t(`lease.slow_${finding.kind}_do`)}</p>
                {better && onResize && (
                  <Button size="xs" variant="default" mt={8} onClick={() => onResize(better)}>
                    {t("lease.slow_resize", { size: sizeText(better) })}
                  </Button>
                )}
              </div>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
