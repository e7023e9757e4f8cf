import { Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { constraintText } from "@/components/refusal-note";
import { Facts } from "@/components/facts";
import { Hint } from "@/components/hint";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { When } from "@/components/when";
import { useZone } from "@/hooks/use-zone";
import { api, dataOf } from "@/lib/api";
import { NEVER } from "@/lib/constraints";
import { useT } from "@/lib/i18n";
import { bookedSeconds, type Reservation } from "@/lib/reservation";
import { sizeText } from "@/lib/reservation-words";
import { serverNow } from "@/lib/clock";
import { formatInstant } from "@/lib/time-format";
import classes from "@/features/lease/meters.module.css";

type Row = readonly [name: string, value: ReactNode];

type Way = { slice: { memory_mib: number; share_permille: number }; starts_at: string; kind: string };

/** What the same wish, made anew now, would be told. It holds nothing and takes no place in line. */
function useWays(reservation: Reservation) {
  return useQuery({
    queryKey: ["reservations", "ways", reservation.id],
    refetchInterval: 30_000,
    queryFn: ({ signal }) => {
      const booked = bookedSeconds(reservation);
      const body = {
        project: reservation.project,
        slice: reservation.slice,
        device_kind: reservation.device_kind,
        ends_at: booked === null ? null : new Date(serverNow() + booked * 1000).toISOString(),
      };
      return dataOf(api.POST("/api/v1/quotes", { body, signal }));
    },
  });
}

function Sooner({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const { zone } = useZone();
  const ways = useWays(reservation);
  if (ways.isPending) return <SkeletonRows rows={2} />;
  if (ways.error) return <ProblemAlert problem={ways.error} retry={() => void ways.refetch()} />;
  const found: readonly Way[] = ways.data.refusal?.alternatives ?? [];
  if (found.length === 0) return <p className={classes.quiet}>{t("lease.queue_sooner_none")}</p>;
  return (
    <Group gap="sm">
      {found.map((way) => {
        const at = formatInstant(way.starts_at, zone);
        const size = sizeText(way.slice);
        return (
          <Button
            key={`${way.kind} ${size}`}
            size="xs"
            variant="default"
            renderRoot={(props) => (
              <Link
                to="/reserve"
                search={{ ...way.slice, ...(way.kind === "later" ? { starts_at: way.starts_at } : {}) }}
                {...props}
              />
            )}
          >
            {way.kind === "later" ? t("lease.queue_sooner_at", { size, at }) : t("lease.queue_sooner_fits", { size })}
          </Button>
        );
      })}
    </Group>
  );
}

/** Nothing waits in silence: the place in line, what it waits for, when it may start, and what would be quicker. */
export function QueuePanel({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const queue = reservation.queue;
  if (!queue) return null;
  const { best, worst } = queue;
  const place = best === worst ? String(best) : t("lease.queue_range", { best: String(best), worst: String(worst) });
  const { estimated_start_at: start, estimated_start_by: by, attempts, next_try_at: next } = queue;
  const unknown = t(NEVER.has(queue.waits_for) ? "lease.queue_never" : "lease.queue_unknown");
  const latest: Row[] =
    by !== null && by !== start
      ? [[t("lease.queue_start_by"), <When key="by" at={by} />]]
      : [];
  const tries = t("lease.queue_tries", { n: attempts });
  const nextTry: Row[] =
    next !== null ? [[t("lease.queue_next_try"), <span key="next"><When at={next} /> ({tries})</span>]] : [];
  return (
    <Panel title={t("lease.queue")}>
      <Facts
        rows={[
          [
            t("lease.queue_position"),
            best === worst ? place : <Hint key="place" text={t("lease.queue_range_why")}>{place}</Hint>,
          ],
          [t("lease.queue_why"), constraintText(queue.waits_for, t)],
          [t("lease.queue_start"), <When key="start" at={start} none={unknown} />],
          ...latest,
          ...nextTry,
          [t("lease.queue_until"), <When key="until" at={reservation.queue_until} none={t("common.open_end")} />],
        ]}
      />
      <h3 className={classes.sub}>{t("lease.queue_sooner")}</h3>
      <p className={classes.quiet}>{t("lease.queue_sooner_hint")}</p>
      <div style={{ marginTop: 8 }}>
        <Sooner reservation={reservation} />
      </div>
    </Panel>
  );
}
