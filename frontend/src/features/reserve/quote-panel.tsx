import { Button, Skeleton, Stack, Text, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { ActionLines } from "@/components/action-lines";
import { ProblemAlert } from "@/components/problem-alert";
import { ToneBadge } from "@/components/tone-badge";
import { PriceHold } from "@/features/reserve/price-hold";
import { Breakdown, PriceLines } from "@/features/reserve/price-lines";
import { QuoteFacts } from "@/features/reserve/quote-facts";
import { RenewalNotice } from "@/features/reserve/notices";
import type { Refusal, Way } from "@/features/reserve/refusal";
import classes from "@/features/reserve/reserve.module.css";
import type { TerminalLines } from "@/features/reserve/terminal";
import { isPriceChanged, type QuoteState } from "@/features/reserve/use-quote";
import type { Quote } from "@/features/reserve/wish";
import { WhyNot } from "@/features/reserve/ways";
import { useT, type Translate } from "@/lib/i18n";
import { formatMoney } from "@/lib/units";

type QuotePanelProps = {
  state: QuoteState;
  /** From the quote, or from a purchase that found it taken. */
  refusal: Refusal | null;
  ways: Way[];
  onWay: (way: Way) => void;
  /** What became of a purchase. */
  notice: ReactNode;
  isBuying: boolean;
  canBuy: boolean;
  canQueue: boolean;
  onBuy: (quote: Quote) => void;
  onQueue: () => void;
  lines: TerminalLines | null;
};

/** The answer to the choice: does it fit, what does it cost, and the one button. */
export function QuotePanel(props: QuotePanelProps) {
  const { state, refusal, ways, onWay, notice, lines } = props;
  const t = useT();
  const { quote, isCurrent, isLoading, problem } = state;
  return (
    <section className={classes.quote} aria-label={t("reserve.quote")} aria-busy={isLoading}>
      {notice}
      {problem && !state.isLoading && <ProblemAlert problem={problem} retry={() => void state.renew()} />}
      {quote === null && !problem && <QuoteSkeleton />}
      {quote !== null && (
        <>
          <div className={classes.quoteHead}>
            <Verdict quote={quote} isLoading={isLoading && !isCurrent} />
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
      <BuyButtons {...props} />
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
  return `${t("reserve.fits")}. ${hour} ${t("reserve.per_hour")}.`;
}

function Verdict({ quote, isLoading }: { quote: Quote; isLoading: boolean }) {
  const t = useT();
  if (isLoading) return <ToneBadge tone="calm" icon="busy" word={t("reserve.updating")} />;
  if (quote.fits) return <ToneBadge tone="good" icon="checkCircle" word={t("reserve.fits")} />;
  const isPriceless = quote.refusal?.code === "no_price";
  return <ToneBadge tone="bad" icon="crossCircle" word={t(isPriceless ? "reserve.not_sold" : "reserve.no_fit")} />;
}

function BuyButtons({ state, refusal, isBuying, canBuy, canQueue, onBuy, onQueue }: QuotePanelProps) {
  const t = useT();
  const { quote } = state;
  const isReady = canBuy && state.isCurrent && quote !== null && quote.fits && refusal === null;
  const isDearer = state.renewal !== null && isPriceChanged(state.renewal);
  return (
    <Stack gap={8}>
      <Button
        fullWidth
        size="md"
        loading={isBuying}
        // Focus stays on a button that is only waiting for its price.
        data-disabled={!isReady || undefined}
        aria-disabled={!isReady}
        onClick={() => {
          if (isReady && !isBuying) onBuy(quote);
        }}
      >
        {t(isReady && isDearer ? "reserve.buy_changed" : "reserve.buy")}
      </Button>
      {!canBuy && <Text size="xs">{t("reserve.may_not_buy")}</Text>}
      {canQueue && state.isCurrent && (
        <Button fullWidth variant="default" disabled={isBuying} onClick={onQueue}>
          {t("reserve.queue")}
        </Button>
      )}
    </Stack>
  );
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
