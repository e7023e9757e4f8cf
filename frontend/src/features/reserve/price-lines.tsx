import { Text } from "@mantine/core";
import { Hint } from "@/components/hint";
import { Money } from "@/components/money";
import classes from "@/features/reserve/reserve.module.css";
import type { Quote } from "@/features/reserve/wish";
import { useT } from "@/lib/i18n";
import { formatDuration, formatShare } from "@/lib/units";

const WHOLE = 1000;

/** What it costs an hour and in all. */
export function PriceLines({ quote }: { quote: Quote }) {
  const t = useT();
  const { currency } = quote;
  if (quote.dominant_permille !== null && quote.dominant_permille > WHOLE) {
    return <Text c="dimmed">{t("reserve.price_too_large")}</Text>;
  }
  if (quote.price === null) {
    return <Text c="dimmed">{quote.refusal?.code === "no_price" ? t("reserve.no_price") : t("reserve.price_unknown")}</Text>;
  }
  const seconds = quote.ends_at === null ? null : lengthShown(Date.parse(quote.ends_at) - Date.parse(quote.starts_at));
  return (
    <div>
      <div className={classes.price}>
        <Money amount={quote.amount_per_hour} currency={currency} /> <span className={classes.per}>{t("reserve.per_hour")}</span>
      </div>
      <Text c="dimmed">
        {quote.amount_total === null || seconds === null ? (
          t("reserve.total_open")
        ) : (
          <>
            <Money amount={quote.amount_total} currency={currency} /> {t("reserve.total_for", { time: formatDuration(seconds) })}
          </>
        )}
      </Text>
    </div>
  );
}

/** In seconds. "An hour from now" lost a moment on its way to the server: that is no 59 minutes. */
function lengthShown(ms: number): number {
  return ms < 600_000 ? ms / 1000 : Math.round(ms / 10_000) * 10;
}

/** Which part of the device each half takes, and which one is paid for. */
export function Breakdown({ quote }: { quote: Quote }) {
  const t = useT();
  const part = (code: string) => quote.breakdown.find((one) => one.label_code === code)?.permille ?? null;
  const dominant = part("dominant");
  if (quote.price === null || dominant === null || dominant > WHOLE) return null;
  const halves = [
    { name: t("reserve.memory"), permille: part("memory") },
    { name: t("reserve.compute"), permille: part("compute") },
  ];
  return (
    <div>
      <div className={classes.label}>{t("reserve.breakdown")}</div>
      {halves.map(({ name, permille }) => (
        <div key={name} className={classes.part}>
          <span>{name}</span>
          <span className={classes.gauge} aria-hidden="true">
            <span
              className={permille === dominant ? classes.paid : classes.unpaid}
              style={{ width: `${Math.min(100, (permille ?? 0) / 10)}%` }}
            />
          </span>
          <span className={classes.number}>{formatShare(permille)}</span>
        </div>
      ))}
      <Text size="xs" c="dimmed">
        <Hint text={t("reserve.dominant_why")}>
          <span className={classes.explained}>{t("reserve.dominant", { share: formatShare(dominant) })}</span>
        </Hint>
        {" × "}
        <Money amount={quote.price.unit_price} currency={quote.price.currency} /> {t("reserve.device_hour")}
      </Text>
    </div>
  );
}
