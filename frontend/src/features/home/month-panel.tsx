import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { QuotaBars } from "@/features/home/quota-bars";
import { Facts } from "@/components/facts";
import { Money } from "@/components/money";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useAccount } from "@/hooks/use-account";
import { may, useMe } from "@/hooks/use-me";
import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { api, dataOf } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { roundAmount } from "@/lib/money";
import { keys } from "@/lib/query-keys";
import { nearestInstant, zonedParts } from "@/lib/time";
import { formatInstant } from "@/lib/time-format";
import classes from "@/features/home/home.module.css";

/** A day's figures are asked for at once; the end moves on by the hour, so that the answer can be kept. */
const HOUR = 3_600_000;

/** The month so far, by the clock of the account. */
function useMonth() {
  const zone = useAccount()?.zone ?? "UTC";
  const now = useNow(60_000);
  const { year, month } = zonedParts(now, zone);
  const from = nearestInstant({ year, month, day: 1, hour: 0, minute: 0, second: 0 }, zone).toISOString();
  const to = new Date((Math.floor(now / HOUR) + 1) * HOUR).toISOString();
  const query = { from, to, group: "project" as const };
  const costs = useQuery({
    queryKey: keys.costs(query),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/costs", { params: { query }, signal })),
    refetchInterval: 60_000,
  });
  return { costs, from };
}

const rounded = (amount: string | null) => amount && roundAmount(amount, 2);

function Spend() {
  const t = useT();
  const { zone } = useZone();
  const { costs, from } = useMonth();
  if (costs.error) return <ProblemAlert problem={costs.error} retry={() => void costs.refetch()} />;
  if (!costs.data) return <SkeletonRows rows={3} height={24} />;
  const { total, currency } = costs.data;
  return (
    <>
      <p className={classes.big}>
        <Money amount={roundAmount(total.amount, 2)} currency={currency} />
      </p>
      <p className={classes.label}>{t("home.spend", { since: formatInstant(from, zone, "date") })}</p>
      <div className={classes.block}>
        <Facts
          rows={[
            [t("home.spend_used"), <Money key="used" amount={rounded(total.amount_used)} currency={currency} />],
            [t("home.spend_idle"), <Money key="idle" amount={rounded(total.amount_idle)} currency={currency} />],
            [t("home.spend_reserved"), <Money key="reserved" amount={roundAmount(total.amount_reserved, 2)} currency={currency} />],
          ]}
        />
      </div>
      {total.quality === "estimated" && <p className={classes.label}>{t("home.spend_quality_estimated")}</p>}
    </>
  );
}

/** What the month has cost, and how much of the quota is in use. */
export function MonthPanel() {
  const t = useT();
  const me = useMe();
  const link = (
    <Anchor size="xs" renderRoot={(props) => <Link to="/cost" {...props} />}>
      {t("home.cost_link")}
    </Anchor>
  );
  return (
    <>
      {may(me, "billing:read") && (
        <Panel title={t("home.month")} aside={link}>
          <Spend />
        </Panel>
      )}
      <Panel title={t("home.quota")}>
        <QuotaBars />
      </Panel>
    </>
  );
}
