import { Button, SegmentedControl, Skeleton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { CostCards } from "@/features/cost/cost-cards";
import { costSearch, GROUPS, type CostSearch, type Group } from "@/features/cost/cost-search";
import { CostTable } from "@/features/cost/cost-table";
import { DayChart } from "@/features/cost/day-chart";
import { InvoicesPanel } from "@/features/cost/invoices-panel";
import { Legend } from "@/features/cost/legend";
import { PartPatterns } from "@/features/cost/part-mark";
import { periodOf } from "@/features/cost/period";
import { RangePicker } from "@/features/cost/range-picker";
import type { Measure } from "@/features/cost/series";
import { Totals } from "@/features/cost/totals";
import { begunDays, csvPath, useCosts } from "@/features/cost/use-costs";
import { ActionLines } from "@/components/action-lines";
import { EmptyState } from "@/components/empty-state";
import { Icon } from "@/components/icon";
import { Page } from "@/components/page";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useAccount } from "@/hooks/use-account";
import { may, useMe } from "@/hooks/use-me";
import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { api, dataOf } from "@/lib/api";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import { toProblem } from "@/lib/problem";
import { keys } from "@/lib/query-keys";
import classes from "@/features/cost/cost.module.css";

/** The most device-hours that the tenant's quota lets be taken in a day; null without a quota. */
function useDailyLimit(): number | null {
  const quotas = useQuery({
    queryKey: keys.quotas,
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/quotas", { params: { query: { limit: 200 } }, signal })),
  });
  const whole = quotas.data?.items.find((quota) => quota.project === null);
  return whole ? (whole.nominal_permille / 1000) * 24 : null;
}

export function CostPage() {
  const t = useT();
  const me = useMe();
  const search = costSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  const viewer = useZone().zone;
  const zone = useAccount()?.zone ?? viewer;
  const period = periodOf(search, useNow(60_000), zone);
  const group = search.group ?? "project";
  const measure: Measure = search.bars ?? "money";
  const limit = useDailyLimit();
  const isPhone = useMediaQuery("(max-width: 48em)") ?? false;
  const days = useCosts(period, "day");
  const rows = useCosts(period, group, group !== "day");
  const shown = group === "day" ? days : rows;
  const table = useMemo(() => (shown.data?.group === "day" ? begunDays(shown.data) : shown.data), [shown.data]);
  const change = (next: Partial<CostSearch>) =>
    void navigate({ to: "/cost", search: { ...search, ...next }, replace: true, resetScroll: false });
  const onDay = (day: string) => change({ range: "custom", from: day, to: day, group: "reservation", q: undefined });
  const download = (
    <Button component="a" href={csvPath(period, group)} download leftSection={<Icon name="download" />}>
      {t("cost.download")}
    </Button>
  );
  const problem = days.error ?? rows.error;
  if (problem && toProblem(problem).code === "no_account") {
    return (
      <Page title={t("cost.title")}>
        <EmptyState title={t("cost.no_account_title")} text={t("cost.no_account_text")} />
      </Page>
    );
  }
  return (
    <Page title={t("cost.title")} aside={<RangePicker search={search} period={period} onChange={change} />} primary={download}>
      <PartPatterns />
      {problem && <ProblemAlert problem={problem} retry={() => void Promise.all([days.refetch(), rows.refetch()])} />}
      {days.data ? <Totals costs={days.data} /> : !problem && <Skeleton height={88} />}
      <Panel
        title={t("cost.per_day")}
        aside={
          <>
            <Legend hasUnread={(days.data?.total.unread_permille_s ?? 0) > 0} />
            <SegmentedControl
              size="xs"
              aria-label={t("cost.bars")}
              value={measure}
              onChange={(value) => change({ bars: value === "hours" ? "hours" : undefined })}
              data={[
                { value: "money", label: t("cost.bars_money") },
                { value: "hours", label: t("cost.bars_hours") },
              ]}
            />
          </>
        }
      >
        {days.data ? <DayChart costs={days.data} measure={measure} limit={limit} onDay={onDay} /> : <Skeleton height={244} />}
      </Panel>
      <div className={classes.groups}>
        <SegmentedControl
          aria-label={t("cost.group")}
          value={group}
          onChange={(value) => change({ group: value === "project" ? undefined : (value as Group), q: undefined, sort: undefined })}
          data={GROUPS.map((one) => ({ value: one, label: t(`cost.by_${one}`) }))}
        />
        {shown.isPlaceholderData && <span role="status">{t("common.loading")}</span>}
      </div>
      {table && table.group === group ? (
        isPhone ? (
          <CostCards costs={table} group={group} onDay={onDay} />
        ) : (
          <CostTable key={group} costs={table} group={group} onDay={onDay} />
        )
      ) : (
        !problem && <SkeletonRows rows={5} height={36} />
      )}
      <p className={classes.note}>{t("cost.days_are", { zone: days.data?.zone ?? zone })}</p>
      {may(me, "billing:read") && (
        <section aria-labelledby="invoices">
          <h2 id="invoices" className={classes.heading}>
            {t("cost.invoices")}
          </h2>
          <InvoicesPanel />
        </section>
      )}
      <ActionLines
        vxpu={`vxpu api get '/costs?${new URLSearchParams({ from: period.from, to: period.to, group })}'`}
        curl={curlLine({ method: "GET", path: csvPath(period, group) })}
      />
    </Page>
  );
}
