import { Skeleton, Stack, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { ActionLines } from "@/components/action-lines";
import { ProblemAlert } from "@/components/problem-alert";
import { BuyButtons, QueueButton, type BuyProps } from "@/features/reserve/buy-buttons";
import { PriceHold } from "@/features/reserve/price-hold";
import { Breakdown, PriceLines } from "@/features/reserve/price-lines";
import { QuoteFacts } from "@/features/reserve/quote-facts";
import { RenewalNotice } from "@/features/reserve/notices";
import type { Way } from "@/features/reserve/refusal";
import classes from "@/features/reserve/reserve.module.css";
import type { TerminalLines } from "@/features/reserve/terminal";
import { useNarrow } from "@/features/reserve/use-narrow";
import { isNow, Verdict } from "@/features/reserve/verdict";
import type { Quote } from "@/features/reserve/wish";
import { WhyNot } from "@/features/reserve/ways";
import { useT, type Translate } from "@/lib/i18n";
import { formatMoney } from "@/lib/units";

type QuotePanelProps = BuyProps & {
  /** What became of a purchase. */
  notice: ReactNode;
  ways: Way[];
  onWay: (way: Way) => void;
  lines: TerminalLines | null;
};

/** The answer to the choice: does it fit, what does it cost, and the one button. */
export function QuotePanel(props: QuotePanelProps) {
  const { state, refusal, ways, onWay, notice, lines } = props;
  const t = useT();
  const { quote, isCurrent, isLoading, problem } = state;
  const isNarrow = useNarrow();
  return (
    <section className={classes.quote} id="quote" tabIndex={-1} aria-label={t("reserve.quote")} aria-busy={isLoading}>
      {notice}
      {problem && !state.isLoading && <ProblemAlert problem={problem} retry={() => void state.renew()} />}
      {quote === null && !problem && <QuoteSkeleton />}
      {quote !== null && (
        <>
          <div className={classes.quoteHead}>
            <Verdict quote={quote} isUpdating={isLoading && !isCurrent} />
            {quote.fits && (isCurrent || state.isExpired) && (
              <PriceHold
                expiresAt={quote.expires_at}
                isExpired={state.isExpired}
                isLoading={isLoading}
                onRenew={() => void state.renew()}
              />
            )}
          </div>
          <VisuallyHidden role="status">{isCurrent ? summaryOf(quote, t) : ""}</VisuallyHidden>
          <div className={isCurrent || state.isExpired ? classes.answer : classes.old}>
            <PriceLines quote={quote} />
            {refusal && <WhyNot refusal={refusal} ways={ways} onTake={onWay} />}
          </div>
          {state.renewal && isCurrent && <RenewalNotice renewal={state.renewal} />}
        </>
      )}
      {!isNarrow && <BuyButtons {...props} />}
      <QueueButton {...props} />
      {quote !== null && (
        <div className={isCurrent || state.isExpired ? classes.answer : classes.old}>
          <Breakdown quote={quote} />
          <QuoteFacts quote={quote} />
        </div>
      )}
      {lines && <ActionLines vxpu={lines.vxpu} curl={lines.curl} />}
    </section>
  );
}

function summaryOf(quote: Quote, t: Translate): string {
  if (!quote.fits) return t("reserve.no_fit");
  const hour = formatMoney(quote.amount_per_hour, quote.currency);
  return `${t(isNow(quote) ? "reserve.fits_now" : "reserve.fits_then")}. ${hour} ${t("reserve.per_hour")}.`;
}

function QuoteSkeleton() {
  const t = useT();
  return (
    <Stack gap={8}>
      <VisuallyHidden role="status">{t("common.loading")}</VisuallyHidden>
      <Skeleton height={20} width={96} />
      <Skeleton height={28} width={200} />
      <Skeleton height={16} width={160} />
    </Stack>
  );
}
