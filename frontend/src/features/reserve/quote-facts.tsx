import type { ReactNode } from "react";
import { Hint } from "@/components/hint";
import { IsolationBadge } from "@/components/isolation-badge";
import { SimulatedBadge } from "@/components/simulated-badge";
import { When } from "@/components/when";
import { periodText } from "@/features/reserve/period-text";
import classes from "@/features/reserve/reserve.module.css";
import type { Quote } from "@/features/reserve/wish";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { formatInstant } from "@/lib/time-format";
import { formatMemory, formatShare } from "@/lib/units";

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={classes.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** What is bought, when, on what, and what stays of the quota. */
export function QuoteFacts({ quote }: { quote: Quote }) {
  const t = useT();
  const { zone } = useZone();
  const { quota } = quote;
  return (
    <dl className={classes.facts}>
      <Fact name={t("reserve.slice")}>
        {formatMemory(quote.slice.memory_mib)} + {formatShare(quote.slice.share_permille)}
      </Fact>
      <Fact name={t("reserve.device")}>
        {quote.device_model === null ? (
          <Hint text={t("reserve.device_unknown_why")}>{t("common.unknown")}</Hint>
        ) : (
          <>
            {quote.device_model} {quote.simulated === true && <SimulatedBadge />}
          </>
        )}
      </Fact>
      <Fact name={t("reserve.time")}>
        {quote.ends_at === null
          ? `${formatInstant(quote.starts_at, zone)} – ${t("common.open_end")}`
          : periodText(quote.starts_at, quote.ends_at, zone)}
      </Fact>
      <Fact name={t("reserve.soonest")}>
        {quote.earliest_start_at === null ? (
          <Hint text={t("reserve.soonest_unknown_why")}>{t("common.unknown")}</Hint>
        ) : quote.fits ? (
          t("reserve.soonest_as_asked")
        ) : (
          <When at={quote.earliest_start_at} />
        )}
      </Fact>
      {quote.isolation && (
        <Fact name={t("reserve.isolation")}>
          <IsolationBadge
            mode={quote.isolation}
            detail={quote.isolation_detail}
            simulated={quote.simulated === true}
            explained
          />
        </Fact>
      )}
      <Fact name={t("reserve.quota_left")}>
        <Hint text={t("reserve.quota_why")}>
          {t("reserve.quota_value", {
            memory: formatMemory(quota.memory_mib_left),
            share: formatShare(quota.share_permille_left),
            n: quota.reservations_left,
          })}
        </Hint>
      </Fact>
      <Fact name={t("reserve.preemption")}>
        <Hint text={t(`reserve.preemption_${quote.preemption}_why`)}>{t(`reserve.preemption_${quote.preemption}`)}</Hint>
      </Fact>
    </dl>
  );
}
