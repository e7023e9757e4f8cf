import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { formatInstant, formatRelative } from "@/lib/time-format";
import { toDate } from "@/lib/time";
import { Hint } from "@/components/hint";

type WhenProps = { at: string | Date | null | undefined; /** What to say for null. */ none?: string };

/** "5 minutes ago", and the exact time in the viewer's zone on hover or focus. */
export function When({ at, none }: WhenProps) {
  const t = useT();
  const now = useNow(10_000);
  const { zone } = useZone();
  if (at === null || at === undefined) return <span>{none ?? t("common.unknown")}</span>;
  return (
    <Hint text={formatInstant(at, zone, "exact")}>
      <time dateTime={toDate(at).toISOString()} style={{ whiteSpace: "nowrap" }}>
        {formatRelative(at, now)}
      </time>
    </Hint>
  );
}
