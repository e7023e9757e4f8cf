import { Link } from "@tanstack/react-router";
import type { Group } from "@/features/cost/cost-search";
import { fillOf } from "@/features/cost/part-mark";
import { heightOf, stackOf } from "@/features/cost/series";
import { deviceHours, type CostItem, type Costs } from "@/features/cost/use-costs";
import { EmptyState } from "@/components/empty-state";
import { Money } from "@/components/money";
import { useT } from "@/lib/i18n";
import { formatNumber } from "@/lib/units";
import classes from "@/features/cost/cost.module.css";

/** The same figures on a phone: a row is a card with its bar. */
export function CostCards({ costs, group, onDay }: { costs: Costs; group: Group; onDay: (day: string) => void }) {
  const t = useT();
  const most = Math.max(1e-9, ...costs.items.map((item) => heightOf(item, "money")));
  if (costs.items.length === 0) return <EmptyState title={t("cost.empty_title")} text={t("cost.empty_text")} />;
  const name = (item: CostItem) => {
    if (group === "reservation") {
      return (
        <Link to="/reservations/$id" params={{ id: item.key }} dir="auto">
          {item.label || item.key}
        </Link>
      );
    }
    if (group === "day") {
      return (
        <button type="button" className={classes.linkButton} onClick={() => onDay(item.key)}>
          {item.label}
        </button>
      );
    }
    return <span dir="auto">{item.label || item.key}</span>;
  };
  const shown = group === "day" ? costs.items.filter((item) => heightOf(item, "money") > 0) : costs.items;
  return (
    <ul className={classes.cards} aria-label={t("cost.table_label")}>
      {shown.map((item) => (
        <li key={item.key} className={classes.card}>
          <div className={classes.cardHead}>
            <span className={classes.cardName}>{name(item)}</span>
            <Money amount={item.amount} currency={costs.currency} />
          </div>
          <CardBar item={item} most={most} />
          <div className={classes.note}>
            {t("cost.card_note", {
              allocated: formatNumber(deviceHours(item.allocated_permille_s), 3),
              used: formatNumber(deviceHours(item.used_permille_s), 3),
              idle: formatNumber(deviceHours(item.idle_permille_s), 3),
            })}
          </div>
        </li>
      ))}
    </ul>
  );
}

function CardBar({ item, most }: { item: CostItem; most: number }) {
  return (
    <svg width="100%" height={8} aria-hidden="true">
      {stackOf(item, "money").map(({ part, from, to }) => (
        <rect key={part} x={`${(from / most) * 100}%`} width={`${((to - from) / most) * 100}%`} height={8} fill={fillOf(part)} />
      ))}
    </svg>
  );
}
