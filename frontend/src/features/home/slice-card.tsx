import { Button, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { SliceBars } from "@/features/home/slice-bars";
import { Money } from "@/components/money";
import { SimulatedBadge } from "@/components/simulated-badge";
import { StateBadge } from "@/components/state-badge";
import { useNow } from "@/hooks/use-now";
import { useT } from "@/lib/i18n";
import { roundAmount } from "@/lib/money";
import { isChangeable, isReleasable, type Reservation } from "@/lib/reservation";
import { nameOf, sizeText } from "@/lib/reservation-words";
import { formatClock } from "@/lib/units";
import classes from "@/features/home/home.module.css";

// Fetched when asked for: the first page stays within its budget.
const ExtendReservation = lazy(() =>
  import("@/components/extend-reservation").then((file) => ({ default: file.ExtendReservation })),
);
const ReleaseReservation = lazy(() =>
  import("@/components/release-reservation").then((file) => ({ default: file.ReleaseReservation })),
);

type SliceCardProps = { reservation: Reservation; /** Follow its readings. */ live: boolean };

const WARN_S = 600;

function TimeLeft({ ends_at }: { ends_at: string | null }) {
  const t = useT();
  const now = useNow(1_000);
  if (ends_at === null) return <>{t("home.no_end")}</>;
  const left = (Date.parse(ends_at) - now) / 1000;
  return <span className={left <= WARN_S ? classes.near : undefined}>{formatClock(left)}</span>;
}

/** One slice that runs: how full it is, how long it lasts, what it costs, and what can be done with it. */
export function SliceCard({ reservation, live }: SliceCardProps) {
  const t = useT();
  const [asking, ask] = useState<"extend" | "release" | null>(null);
  const name = nameOf(reservation);
  const state = reservation.lease?.state === "unreachable" ? "unreachable" : reservation.state;
  const cost = reservation.cost_so_far;
  return (
    <li className={classes.card}>
      <div className={classes.cardHead}>
        <Link to="/reservations/$id" params={{ id: reservation.id }} className={classes.name}>
          <bdi>{name}</bdi>
        </Link>
        <StateBadge state={state} />
      </div>
      <div className={classes.facts}>
        {reservation.name && <span>{sizeText(reservation.slice)}</span>}
        {reservation.device && <span>{reservation.device.model}</span>}
        {reservation.device?.simulated && <SimulatedBadge />}
      </div>
      <SliceBars reservation={reservation} live={live} />
      <div className={classes.figures}>
        <span className={classes.figure}>
          <span className={classes.label}>{t("home.time_left")}</span>
          <TimeLeft ends_at={reservation.ends_at} />
        </span>
        {cost && (
          <span className={classes.figure}>
            <span className={classes.label}>{t("home.so_far")}</span>
            <Money amount={roundAmount(cost.amount, 2)} currency={cost.currency} />
          </span>
        )}
        <Group gap={4} className={classes.actions}>
          {isReleasable(reservation) && (
            <Button size="compact-sm" variant="subtle" color="gray" aria-label={t("home.release_named", { name })} onClick={() => ask("release")}>
              {t("home.release")}
            </Button>
          )}
          {isChangeable(reservation) && (
            <Button size="compact-sm" variant="default" aria-label={t("home.extend_named", { name })} onClick={() => ask("extend")}>
              {t("home.extend")}
            </Button>
          )}
        </Group>
      </div>
      <Suspense fallback={null}>
        {asking === "extend" && <ExtendReservation reservation={reservation} onClose={() => ask(null)} />}
        {asking === "release" && <ReleaseReservation reservation={reservation} onClose={() => ask(null)} />}
      </Suspense>
    </li>
  );
}
