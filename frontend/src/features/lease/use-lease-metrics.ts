import { useState } from "react";
import type { LeaseSample } from "@/features/lease/lease-sample";
import { addSample, EMPTY, type Series } from "@/features/lease/live-series";
import { useLiveTopic, type LiveTopic } from "@/hooks/use-live-topic";

export type LeaseMetrics = LiveTopic & {
  /** What the node said last; null until it has spoken. */
  sample: LeaseSample | null;
  series: Series;
};

type Heard = { lease: string; sample: LeaseSample | null; series: Series };

/** Follows a lease's readings while the component is shown; null follows none. */
export function useLeaseMetrics(lease: string | null): LeaseMetrics {
  const nothing: Heard = { lease: lease ?? "", sample: null, series: EMPTY };
  const [heard, setHeard] = useState<Heard>(nothing);
  const topic = useLiveTopic<LeaseSample, LeaseSample>(lease === null ? null : `lease/${lease}/metrics`, {
    onMetrics: (sample) =>
      setHeard((before) => {
        const own = before.lease === lease ? before : nothing;
        return { lease: lease ?? "", sample, series: addSample(own.series, sample) };
      }),
  });
  const own = heard.lease === (lease ?? "") ? heard : nothing;
  return { ...topic, sample: own.sample, series: own.series };
}
