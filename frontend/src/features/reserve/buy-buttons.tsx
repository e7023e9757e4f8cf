import { Button, Stack, Text } from "@mantine/core";
import type { Refusal } from "@/features/reserve/refusal";
import { isPriceChanged, type QuoteState } from "@/features/reserve/use-quote";
import type { Quote } from "@/features/reserve/wish";
import { useT } from "@/lib/i18n";

export type BuyProps = {
  state: QuoteState;
  /** From the quote, or from a purchase that found it taken. */
  refusal: Refusal | null;
  isBuying: boolean;
  canBuy: boolean;
  canQueue: boolean;
  onBuy: (quote: Quote) => void;
  onQueue: () => void;
};

/** The one button; it waits for a quote that is current. */
export function BuyButtons({ state, refusal, isBuying, canBuy, onBuy }: BuyProps) {
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
    </Stack>
  );
}

/** Nothing is free now: a place in line instead. */
export function QueueButton({ state, canBuy, canQueue, isBuying, onQueue }: BuyProps) {
  const t = useT();
  if (!canQueue || !canBuy || !state.isCurrent) return null;
  return (
    <Button fullWidth variant="default" disabled={isBuying} onClick={onQueue}>
      {t("reserve.queue")}
    </Button>
  );
}
