import { useState } from "react";
import { Reading, type ReadingValue } from "@/components/reading";
import { ShareBar } from "@/components/share-bar";
import { useLiveTopic } from "@/hooks/use-live-topic";
import { useNow } from "@/hooks/use-now";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { formatMemory, formatShare } from "@/lib/units";
import classes from "@/features/home/home.module.css";

/** The part of the topic `lease/{id}/metrics` that is shown here (docs/live.md). */
type Sample = {
  at: string;
  memory_mib: ReadingValue;
  memory_limit_mib: number;
  compute_permille: ReadingValue;
  compute_limit_permille: number;
};

/** So long without a word from the node, and its last values are old. */
const SILENT_MS = 5_000;

type BarProps = { label: string; reading: ReadingValue | null; limit: number; format: (value: number) => string };

function Bar({ label, reading, limit, format }: BarProps) {
  return (
    <div className={classes.bar}>
      <span className={classes.label}>{label}</span>
      <ShareBar label={label} used={reading?.value ?? null} limit={limit} format={format} />
      <span className={classes.barValue}>
        <Reading reading={reading} format={format} />
        <span className={classes.label}> / {format(limit)}</span>
      </span>
    </div>
  );
}

/** Memory and compute against the slice's limits, as they move. */
export function SliceBars({ reservation, live }: { reservation: Reservation; live: boolean }) {
  const t = useT();
  const now = useNow(2_000);
  const [sample, setSample] = useState<Sample | null>(null);
  const lease = reservation.lease;
  const topic = useLiveTopic<Sample, Sample>(live && lease ? `lease/${lease.id}/metrics` : null, { onMetrics: setSample });
  const isOld = topic.stale || (sample !== null && now - Date.parse(sample.at) > SILENT_MS);
  const told = (reading: ReadingValue | undefined): ReadingValue | null => {
    if (!reading) return null;
    return isOld && reading.value !== null ? { ...reading, quality: "stale" } : reading;
  };
  return (
    <div className={isOld ? classes.old : undefined}>
      <Bar
        label={t("home.memory")}
        reading={told(sample?.memory_mib)}
        limit={sample?.memory_limit_mib ?? reservation.slice.memory_mib}
        format={formatMemory}
      />
      <Bar
        label={t("home.compute")}
        reading={told(sample?.compute_permille)}
        limit={sample?.compute_limit_permille ?? reservation.slice.share_permille}
        format={formatShare}
      />
    </div>
  );
}
