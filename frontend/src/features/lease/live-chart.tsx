import { Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";
import type { PlotProps } from "@/features/lease/uplot-canvas";

// uPlot comes with the first slice that is looked at, not with the page's frame.
const UplotCanvas = lazy(() => import("@/features/lease/uplot-canvas").then((module) => ({ default: module.UplotCanvas })));

/** A drawing of the last minutes; `label` is what a reader that does not see it is told. */
export function LiveChart({ label, ...plot }: PlotProps & { label: string }) {
  return (
    <div role="img" aria-label={label}>
      <Suspense fallback={<Skeleton height={144} />}>
        <UplotCanvas {...plot} />
      </Suspense>
    </div>
  );
}
