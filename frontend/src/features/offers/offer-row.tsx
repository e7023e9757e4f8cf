import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Hint } from "@/components/hint";
import { When } from "@/components/when";
import classes from "@/features/offers/offers.module.css";
import type { Sold } from "@/features/offers/shelf";
import { useNow } from "@/hooks/use-now";
import type { Offer } from "@/hooks/use-offers";
import { useT } from "@/lib/i18n";
import { sizeText } from "@/lib/reservation-words";
import { formatMemory, formatMoney, formatShare } from "@/lib/units";

/** One size of a class, and the way to buy it. */
export function OfferRow({ sold: { offer, per_hour }, name }: { sold: Sold; name: string }) {
  const t = useT();
  const size = offer.preset ?? (offer.profile || offer.title);
  return (
    <tr>
      <th scope="row" title={offer.title}>
        {size}
      </th>
      <td className={classes.number}>
        {formatMemory(offer.slice.memory_mib)}
        <div className={classes.narrow}>{formatShare(offer.slice.share_permille)}</div>
      </td>
      <td className={`${classes.number} ${classes.wide}`}>{formatShare(offer.slice.share_permille)}</td>
      <td className={classes.number}>
        {offer.price === null || per_hour === null ? (
          <Hint text={t("offers.no_price")}>{t("common.unknown")}</Hint>
        ) : (
          amountOnly(per_hour, offer.price.currency)
        )}
        <div className={classes.narrow}>
          <Start offer={offer} />
        </div>
      </td>
      <td className={classes.wide}>
        <Start offer={offer} />
      </td>
      <td className={classes.act}>
        <Button
          renderRoot={(props) => <Link {...props} to="/reserve" search={{ offer: offer.id }} />}
          size="xs"
          variant={offer.price === null ? "default" : "light"}
          aria-label={t("offers.reserve_named", { size: `${size} (${sizeText(offer.slice)})`, kind: name })}
        >
          {t("offers.reserve")}
        </Button>
      </td>
    </tr>
  );
}

/** The currency stands once, in the head. */
const amountOnly = (amount: string, currency: string) => formatMoney(amount, currency).replace(`\u00a0${currency}`, "");

function Start({ offer }: { offer: Offer }) {
  const t = useT();
  const now = useNow(30_000);
  const at = offer.earliest_start_at;
  if (at === null) return <Hint text={t("offers.earliest_unknown")}>{t("common.unknown")}</Hint>;
  return Date.parse(at) <= now + 30_000 ? <span>{t("offers.earliest_now")}</span> : <When at={at} />;
}
