import { useNow } from "@/hooks/use-now";
import { useT, type MessageKey } from "@/lib/i18n";
import { formatRelative } from "@/lib/time-format";
import { formatNumber } from "@/lib/units";
import { Hint } from "@/components/hint";
import { Icon } from "@/components/icon";

/** A value with its age and quality; null is not readable, never zero. */
export type ReadingValue = {
  value: number | null;
  at: string | null;
  quality: "measured" | "estimated" | "stale" | "unavailable";
};

type ReadingProps = {
  reading: ReadingValue | null | undefined;
  /** Written after the number; leave out where a table's head says it. */
  unit?: string;
  /** Writes the value in another way, such as MiB as GiB. */
  format?: (value: number) => string;
};

const WHY: Partial<Record<ReadingValue["quality"], MessageKey>> = {
  stale: "reading.stale_why",
  estimated: "reading.estimated_why",
  unavailable: "reading.unavailable_why",
};

export function Reading({ reading, unit, format }: ReadingProps) {
  const t = useT();
  const now = useNow(5_000);
  if (!reading || reading.value === null || reading.quality === "unavailable") {
    return <Hint text={t("reading.unavailable_why")}>{t("common.unknown")}</Hint>;
  }
  const written = format ? format(reading.value) : `${formatNumber(reading.value)}${unit ? `\u00a0${unit}` : ""}`;
  const age = reading.at ? formatRelative(reading.at, now) : t("common.unknown");
  const why = WHY[reading.quality];
  const told = t("reading.age", { quality: t(`reading.${reading.quality}`), age });
  return (
    <Hint text={why ? `${told}. ${t(why)}` : told}>
      <span style={{ whiteSpace: "nowrap", opacity: reading.quality === "stale" ? 0.75 : 1 }}>
        {reading.quality === "estimated" ? "~" : ""}
        {written}
        {reading.quality === "stale" && (
          <>
            {" "}
            <Icon name="clock" size={12} />
          </>
        )}
      </span>
    </Hint>
  );
}
