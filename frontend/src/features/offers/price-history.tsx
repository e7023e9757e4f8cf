import { Hint } from "@/components/hint";
import { Sparkline } from "@/components/sparkline";
import classes from "@/features/offers/offers.module.css";
import { lastDay, nextStep, rangeOf } from "@/features/offers/price-line";
import type { Offer } from "@/hooks/use-offers";
import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { amountToNumber, compareAmounts } from "@/lib/money";
import { formatInstant } from "@/lib/time-format";
import { formatMoney } from "@/lib/units";

/** Room above the highest price, so that the line lies beside its number. */
const HEADROOM = 1.5;

/** The price of the last day as a line of steps, and the change that is published already. */
export function PriceHistory({ offer }: { offer: Offer }) {
  const t = useT();
  const now = useNow(60_000);
  const { zone } = useZone();
  const range = rangeOf(offer.price_line, now);
  if (range === null || offer.price === null) return null;
  const { currency } = offer.price;
  const low = formatMoney(range.low, currency);
  const high = formatMoney(range.high, currency);
  const past = compareAmounts(range.low, range.high) === 0 ? t("offers.price_steady", { high }) : t("offers.price_line_label", { low, high });
  const next = nextStep(offer.price_line, now);
  const coming =
    next === null
      ? ""
      : next.unit_price === null
        ? t("offers.price_ends", { at: formatInstant(next.at, zone) })
        : t("offers.price_next", { at: formatInstant(next.at, zone), price: formatMoney(next.unit_price, currency) });
  return (
    <Hint text={`${past}. ${coming}`.trim()}>
      <span className={classes.history}>
        <span>{t("offers.price_line")}</span>
        <Sparkline
          values={lastDay(offer.price_line, now)}
          max={amountToNumber(range.high) * HEADROOM}
          step
          width={96}
          height={24}
          label={`${past}. ${coming}`.trim()}
        />
      </span>
    </Hint>
  );
}
