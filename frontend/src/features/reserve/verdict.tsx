import { ToneBadge } from "@/components/tone-badge";
import type { Quote } from "@/features/reserve/wish";
import { useT } from "@/lib/i18n";

/** Whether it fits, in a word; a quote that is on its way says so. */
export function Verdict({ quote, isUpdating }: { quote: Quote; isUpdating: boolean }) {
  const t = useT();
  if (isUpdating) return <ToneBadge tone="calm" icon="busy" word={t("reserve.updating")} />;
  if (quote.fits) return <ToneBadge tone="good" icon="checkCircle" word={t(isNow(quote) ? "reserve.fits_now" : "reserve.fits_then")} />;
  const isPriceless = quote.refusal?.code === "no_price";
  return <ToneBadge tone="bad" icon="crossCircle" word={t(isPriceless ? "reserve.not_sold" : "reserve.no_fit")} />;
}

/** A start within the second of the answer is now. */
export const isNow = (quote: Quote): boolean => Date.parse(quote.starts_at) - Date.parse(quote.created_at) < 1_000;
