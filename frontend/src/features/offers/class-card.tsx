import { Text } from "@mantine/core";
import { Hint } from "@/components/hint";
import { IsolationBadge } from "@/components/isolation-badge";
import { Money } from "@/components/money";
import { SimulatedBadge } from "@/components/simulated-badge";
import classes from "@/features/offers/offers.module.css";
import { OfferRow } from "@/features/offers/offer-row";
import { PriceHistory } from "@/features/offers/price-history";
import type { OfferClass } from "@/features/offers/shelf";
import type { Offer } from "@/hooks/use-offers";
import { kindName } from "@/lib/device-kind";
import { useT } from "@/lib/i18n";
import { sizeText } from "@/lib/reservation-words";

/** A class of devices: what all its sizes share, then the sizes. */
export function ClassCard({ group }: { group: OfferClass }) {
  const t = useT();
  const [first] = group.rows;
  if (!first) return null;
  const { offer } = first;
  const name = kindName(group.kind, t);
  // What the buyer insists on comes before what the devices give.
  const modes = offer.isolation_at_least === "exclusive" ? ["exclusive"] : offer.isolation;
  return (
    <section className={classes.card} aria-label={name}>
      <div className={classes.head}>
        <div className={classes.title}>
          <h2>{name}</h2>
          {offer.simulated && <SimulatedBadge />}
          <Text size="xs" c="dimmed">
            {offer.devices_online === 0 ? t("offers.online_none") : t("offers.online", { n: offer.devices_online })}
          </Text>
          <Health health={offer.health} />
          <Text size="xs" c="dimmed">
            {offer.free === null ? t("offers.free_none") : t("offers.free", { size: sizeText(offer.free) })}
          </Text>
        </div>
        <div className={classes.price}>
          <PriceHistory offer={offer} />
          <PriceNow offer={offer} />
        </div>
      </div>
      <div className={classes.about}>
        {modes.map((mode) => (
          <IsolationBadge key={mode} mode={mode} simulated={offer.simulated} explained />
        ))}
      </div>
      <table className={classes.sizes}>
        <thead>
          <tr>
            <th scope="col">{t("offers.size")}</th>
            <th scope="col" className={classes.number}>
              {t("offers.memory")}
            </th>
            <th scope="col" className={`${classes.number} ${classes.wide}`}>
              {t("offers.compute")}
            </th>
            <th scope="col" className={classes.number}>
              {offer.price === null ? t("offers.price") : t("offers.price_of", { currency: offer.price.currency })}
            </th>
            <th scope="col" className={classes.wide}>
              {t("offers.earliest")}
            </th>
            <th scope="col" className={classes.act}>
              <span className={classes.hidden}>{t("offers.reserve")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {group.rows.map((sold) => (
            <OfferRow key={sold.offer.id} sold={sold} name={name} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Health({ health }: { health: number | null }) {
  const t = useT();
  return (
    <Text size="xs" c="dimmed" component="span">
      {t("offers.health")}{" "}
      {health === null ? (
        <Hint text={t("offers.health_unknown")}>{t("common.unknown")}</Hint>
      ) : (
        t("offers.health_of", { n: health })
      )}
    </Text>
  );
}

function PriceNow({ offer }: { offer: Offer }) {
  const t = useT();
  if (offer.price === null) {
    return (
      <Hint text={t("offers.no_price")}>
        <span className={classes.unpriced}>{t("offers.not_sold")}</span>
      </Hint>
    );
  }
  return (
    <span>
      <Money amount={offer.price.unit_price} currency={offer.price.currency} />{" "}
      <Text component="span" size="xs" c="dimmed">
        {t("offers.device_hour")}
      </Text>
    </span>
  );
}
