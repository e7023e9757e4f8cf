import { Skeleton, Text } from "@mantine/core";
import { ProblemAlert } from "@/components/problem-alert";
import { RefusalNote } from "@/components/refusal-note";
import type { ChangeQuoteAnswer } from "@/hooks/use-change-quote";
import { serverNow } from "@/lib/clock";
import { useT } from "@/lib/i18n";
import { compareAmounts, subtractAmounts } from "@/lib/money";
import { formatMoney } from "@/lib/units";
import classes from "@/features/lease/resize.module.css";

type Size = { memory_mib: number; share_permille: number };
type ResizePriceProps = { quote: ChangeQuoteAnswer; onPick: (size: Size) => void };

/** "+0.50 EUR" */
const signed = (amount: string, currency: string) =>
  `${compareAmounts(amount, "0") > 0 ? "+" : ""}${formatMoney(amount, currency)}`;

/** What the change costs an hour and by the booked end; or why not, and what would fit. */
export function ResizePrice({ quote, onPick }: ResizePriceProps) {
  const t = useT();
  if (quote.error) return <ProblemAlert problem={quote.error} retry={() => void quote.refetch()} />;
  const found = quote.data;
  if (!found) return <Skeleton height={96} role="status" aria-label={t("lease.resize_asking")} />;
  const { currency, amount_total_before: before, amount_total_after: after } = found;
  const rows = [
    [t("lease.cost_per_hour"), found.amount_per_hour_before, found.amount_per_hour_after, found.difference_per_hour],
    ...(before !== null && after !== null ? [[t("lease.cost_by_end"), before, after, subtractAmounts(after, before)]] : []),
  ] as [string, string, string, string][];
  const isLater = Date.parse(found.effective_at) > serverNow() + 60_000;
  return (
    <div className={quote.isOld ? classes.old : undefined} aria-busy={quote.isOld}>
      <table className={classes.prices}>
        <thead>
          <tr>
            <th />
            <th scope="col">{t("lease.resize_before")}</th>
            <th scope="col">{t("lease.resize_after")}</th>
            <th scope="col">{t("lease.resize_difference")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, first, second, difference]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{formatMoney(first, currency)}</td>
              <td>{formatMoney(second, currency)}</td>
              <td className={classes.difference}>{signed(difference, currency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.refusal ? (
        <div style={{ marginTop: 12 }}>
          <RefusalNote refusal={found.refusal} onPick={onPick} />
        </div>
      ) : (
        <Text size="xs" c="dimmed" mt={8}>
          {t(isLater ? "lease.resize_at_start" : "lease.resize_at")}
        </Text>
      )}
    </div>
  );
}
