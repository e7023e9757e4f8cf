import { PART_NAMES, PARTS, partOf, type Part } from "@/features/cost/series";
import type { CostFigures, Costs } from "@/features/cost/use-costs";
import { Hint } from "@/components/hint";
import { Money } from "@/components/money";
import { When } from "@/components/when";
import { useT, type MessageKey } from "@/lib/i18n";
import { formatShare } from "@/lib/units";
import { PartMark } from "@/features/cost/part-mark";
import classes from "@/features/cost/cost.module.css";

const WHY: Record<Part, MessageKey> = {
  used: "cost.used_why",
  idle: "cost.idle_why",
  unread: "cost.unread_why",
  reserved: "cost.reserved_why",
};

/** A part in permille of the whole; null where either is unknown or nothing was spent. */
function shareOf(figures: CostFigures, part: Part): number | null {
  const all = PARTS.reduce((sum, one) => sum + (partOf(figures, one, "money") ?? 0), 0);
  const own = partOf(figures, part, "money");
  return own === null || all <= 0 ? null : Math.round((own / all) * 1000);
}

/** What the period cost in all, and of what that consists. The parts add up to the whole. */
export function Totals({ costs }: { costs: Costs }) {
  const t = useT();
  const { total, currency } = costs;
  const parts = PARTS.filter((part) => part !== "unread" || total.unread_permille_s > 0);
  return (
    <dl className={classes.totals}>
      <div className={classes.total}>
        <dt>{t("cost.total")}</dt>
        <dd className={classes.figure}>
          <Money amount={total.amount} currency={currency} />
        </dd>
        <dd className={classes.note}>
          {costs.quality === "measured" ? t("cost.as_of") : t("cost.as_of_estimated")} <When at={costs.as_of} />
        </dd>
      </div>
      {parts.map((part) => (
        <div key={part} className={classes.total}>
          <dt>
            <PartMark part={part} />
            <Hint text={t(WHY[part])}>{t(PART_NAMES[part])}</Hint>
          </dt>
          <dd className={classes.figure}>
            <Money amount={total[`amount_${part}`]} currency={currency} />
          </dd>
          <dd className={classes.note}>
            {shareOf(total, part) === null ? "\u00a0" : t("cost.share_of_total", { share: formatShare(shareOf(total, part)) })}
          </dd>
        </div>
      ))}
      <div className={classes.total}>
        <dt>
          <Hint text={t("cost.invoiced_why")}>{t("cost.invoiced")}</Hint>
        </dt>
        <dd className={classes.figure}>
          <Money amount={total.invoiced} currency={currency} />
        </dd>
        <dd className={classes.note}>{t("cost.invoiced_note")}</dd>
      </div>
    </dl>
  );
}
