import { Button } from "@mantine/core";
import { BuyButtons, type BuyProps } from "@/features/reserve/buy-buttons";
import classes from "@/features/reserve/reserve.module.css";
import { Verdict } from "@/features/reserve/verdict";
import { useT } from "@/lib/i18n";
import { formatMoney } from "@/lib/units";

function showQuote(): void {
  const quote = document.getElementById("quote");
  quote?.scrollIntoView({ block: "start" });
  quote?.focus({ preventScroll: true });
}

/** On a narrow screen: what it costs, and the button, always in sight. */
export function BuyBar(props: BuyProps) {
  const t = useT();
  const { quote, isCurrent, isLoading } = props.state;
  return (
    <section className={classes.bar} aria-label={t("reserve.buy")}>
      {quote !== null && (
        <div className={classes.barPrice}>
          <span className={isCurrent ? undefined : classes.old}>
            {quote.fits && (
              <>
                <strong>{formatMoney(quote.amount_per_hour, quote.currency)}</strong> {t("reserve.per_hour")}
              </>
            )}
          </span>
          <Verdict quote={quote} isUpdating={isLoading && !isCurrent} />
        </div>
      )}
      {isCurrent && quote !== null && !quote.fits ? (
        <Button variant="default" onClick={showQuote}>
          {t("reserve.see_ways")}
        </Button>
      ) : (
        <BuyButtons {...props} />
      )}
    </section>
  );
}
