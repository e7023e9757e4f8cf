import { Skeleton, Stack, Text } from "@mantine/core";
import type { ChangeQuoteAnswer } from "@/hooks/use-change-quote";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { subtractAmounts } from "@/lib/money";
import { formatInstant } from "@/lib/time-format";
import { formatMoney } from "@/lib/units";
import { Facts } from "@/components/facts";
import { ProblemAlert } from "@/components/problem-alert";
import { RefusalNote } from "@/components/refusal-note";

type ExtendPriceProps = { ends_at: string | null; quote: ChangeQuoteAnswer };

/** What a later end costs, or why it cannot be had. */
export function ExtendPrice({ ends_at, quote }: ExtendPriceProps) {
  const t = useT();
  const { zone } = useZone();
  if (quote.error) return <ProblemAlert problem={quote.error} retry={() => void quote.refetch()} />;
  const found = quote.data;
  if (!found) return <Skeleton height={48} role="status" aria-label={t("lease.resize_asking")} />;
  const { amount_total_before: before, amount_total_after: after, currency } = found;
  const rate = formatMoney(found.amount_per_hour_after, currency);
  // From an open end there is no "more": the whole rest is told.
  const more = after === null ? null : before === null ? after : subtractAmounts(after, before);
  const cost = more === null ? t("lease.extend_costs_hour", { rate }) : formatMoney(more, currency);
  return (
    <Stack gap="sm" style={{ opacity: quote.isOld ? 0.5 : 1 }} aria-busy={quote.isOld}>
      <Facts
        rows={[
          [t("lease.extend_new_end"), ends_at ? formatInstant(ends_at, zone, "exact") : t("common.open_end")],
          [t("lease.extend_costs"), <Text key="cost" fw={600}>{cost}</Text>],
          [t("lease.cost_per_hour"), rate],
        ]}
      />
      {found.refusal && <RefusalNote refusal={found.refusal} />}
    </Stack>
  );
}
