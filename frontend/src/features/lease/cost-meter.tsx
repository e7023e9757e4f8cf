import { amountAfter } from "@/features/lease/cost-estimate";
import { Facts } from "@/components/facts";
import { Hint } from "@/components/hint";
import { Money } from "@/components/money";
import { Panel } from "@/components/panel";
import { ToneBadge } from "@/components/tone-badge";
import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { useT, type Translate } from "@/lib/i18n";
import { isDelivering, phaseOf, type Reservation } from "@/lib/reservation";
import { formatInstant, formatRelative } from "@/lib/time-format";
import { formatMoney } from "@/lib/units";
import classes from "@/features/lease/meters.module.css";

type Cost = NonNullable<Reservation["cost_so_far"]>;

/** The amount by now: the server's figure, and while it runs the time since then on top. */
export function amountNow(reservation: Reservation, cost: Cost, now: number): string {
  const rate = reservation.amount_per_hour;
  if (!isDelivering(reservation) || rate === null) return cost.amount;
  const until = reservation.ends_at === null ? now : Math.min(now, Date.parse(reservation.ends_at));
  return amountAfter(cost.amount, rate, until - Date.parse(cost.as_of));
}

/** What it will have cost at the booked end if nothing is changed; null without an end or a price. */
function amountByEnd(reservation: Reservation, cost: Cost | null): string | null {
  const { amount_per_hour: rate, ends_at } = reservation;
  if (rate === null || ends_at === null || phaseOf(reservation) === "ended" || reservation.released_at) return null;
  const from = cost && isDelivering(reservation) ? Date.parse(cost.as_of) : Date.parse(reservation.starts_at);
  return amountAfter(cost?.amount ?? "0", rate, Date.parse(ends_at) - from, 2);
}

function whyOf(reservation: Reservation, cost: Cost, now: number, t: Translate): string {
  const age = formatRelative(cost.as_of, now);
  if (isDelivering(reservation) && reservation.amount_per_hour !== null) {
    const rate = formatMoney(reservation.amount_per_hour, cost.currency);
    return t("lease.cost_estimated", { amount: formatMoney(cost.amount, cost.currency), age, rate });
  }
  return cost.quality === "measured" ? t("lease.cost_measured") : t("lease.cost_server_estimate", { age });
}

function SoFar({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const now = useNow(1_000);
  const cost = reservation.cost_so_far;
  if (!cost) return <p className={classes.quiet}>{t("lease.cost_none")}</p>;
  const isEstimate = isDelivering(reservation) || cost.quality !== "measured";
  return (
    <>
      <p className={classes.big}>
        <Money amount={amountNow(reservation, cost, now)} currency={cost.currency} />
        <Hint text={whyOf(reservation, cost, now, t)}>
          <ToneBadge
            tone={isEstimate ? "wait" : "good"}
            icon={isEstimate ? "clock" : "check"}
            word={t(isEstimate ? "reading.estimated" : "reading.measured").toLowerCase()}
          />
        </Hint>
      </p>
      <p className={classes.quiet}>{t("lease.cost_so_far")}</p>
    </>
  );
}

/** What it costs: so far, per hour, by the booked end. */
export function CostMeter({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const { zone } = useZone();
  const { price, price_terms: terms, amount_per_hour: rate } = reservation;
  const currency = reservation.cost_so_far?.currency ?? price?.currency ?? "";
  const byEnd = amountByEnd(reservation, reservation.cost_so_far);
  const isOver = phaseOf(reservation) === "ended";
  return (
    <Panel title={t("lease.cost")}>
      <SoFar reservation={reservation} />
      {!isOver && (
        <Facts
          rows={[
            [t("lease.cost_per_hour"), rate === null ? t("lease.cost_no_price") : <Money key="rate" amount={rate} currency={currency} />],
            [t("lease.cost_by_end"), byEnd === null ? t("lease.cost_open") : <Money key="end" amount={byEnd} currency={currency} />],
          ]}
        />
      )}
      <p className={classes.quiet}>
        {isOver
          ? t("lease.cost_stopped")
          : terms.until
            ? t("lease.price_fixed", { until: formatInstant(terms.until, zone) })
            : t("lease.price_list")}
      </p>
    </Panel>
  );
}
