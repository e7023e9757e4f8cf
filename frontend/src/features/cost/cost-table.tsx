import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Group } from "@/features/cost/cost-search";
import { deviceHours, type CostFigures, type CostItem, type Costs } from "@/features/cost/use-costs";
import { DataTable, type Column } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Hint } from "@/components/hint";
import { amountToNumber } from "@/lib/money";
import { useT, type Translate } from "@/lib/i18n";
import { formatMoney, formatNumber } from "@/lib/units";

type Figure = { id: string; head: string; value: (row: CostFigures) => number | null; text: (row: CostFigures) => string; hidden?: boolean };

const bare = (amount: string | null) => formatMoney(amount, "").trim();

/** The figures of a row; the head has the unit. */
function figures(t: Translate, currency: string): Figure[] {
  const hours = (id: string, name: string, of: (row: CostFigures) => number | null, hidden = false): Figure => ({
    id,
    head: `${name} (${t("cost.device_hours")})`,
    value: (row) => deviceHours(of(row)),
    text: (row) => formatNumber(deviceHours(of(row)), 4),
    hidden,
  });
  const money = (id: string, name: string, of: (row: CostFigures) => string | null, hidden = false): Figure => ({
    id,
    head: `${name} (${currency})`,
    value: (row) => (of(row) === null ? null : amountToNumber(of(row) ?? "0")),
    text: (row) => bare(of(row)),
    hidden,
  });
  return [
    hours("allocated", t("cost.allocated"), (row) => row.allocated_permille_s),
    hours("used_hours", t("cost.used"), (row) => row.used_permille_s),
    hours("idle_hours", t("cost.idle"), (row) => row.idle_permille_s),
    hours("unread_hours", t("cost.unread"), (row) => row.unread_permille_s, true),
    hours("reserved_hours", t("cost.reserved"), (row) => row.reserved_permille_s, true),
    money("used", t("cost.used"), (row) => row.amount_used, true),
    money("idle", t("cost.idle"), (row) => row.amount_idle),
    money("unread", t("cost.unread"), (row) => row.amount_unread, true),
    money("reserved", t("cost.reserved"), (row) => row.amount_reserved),
    money("amount", t("cost.amount"), (row) => row.amount),
    money("invoiced", t("cost.invoiced"), (row) => row.invoiced),
  ];
}

function Name({ item, group }: { item: CostItem; group: Group }) {
  const name = <span dir="auto">{item.label || item.key}</span>;
  if (group !== "reservation") return name;
  return (
    <Link to="/reservations/$id" params={{ id: item.key }}>
      {name}
    </Link>
  );
}

type CostTableProps = { costs: Costs; group: Group; onDay: (day: string) => void };

export function CostTable({ costs, group, onDay }: CostTableProps) {
  const t = useT();
  const navigate = useNavigate();
  const columns = useMemo<Column<CostItem>[]>(() => {
    const all = figures(t, costs.currency);
    const estimated = (row: CostItem) =>
      row.quality === "measured" ? null : <Hint text={t("cost.estimated_why")}>{"~\u00a0"}</Hint>;
    return [
      {
        id: "name",
        head: t(`cost.by_${group}`),
        value: (row) => row.label || row.key,
        cell: (row) => <Name item={row} group={group} />,
        fixed: true,
      },
      ...all.map(({ id, head, value, text, hidden }) => ({
        id,
        head,
        value,
        cell: (row: CostItem) => (
          <>
            {id === "amount" && estimated(row)}
            {text(row)}
          </>
        ),
        end: true,
        hidden,
      })),
    ];
  }, [t, costs.currency, group]);
  const foot = useMemo(
    () => ({
      name: t("cost.total"),
      ...Object.fromEntries(figures(t, costs.currency).map((figure) => [figure.id, figure.text(costs.total)])),
    }),
    [t, costs],
  );
  const open = {
    project: undefined,
    class: undefined,
    day: (row: CostItem) => onDay(row.key),
    reservation: (row: CostItem) => void navigate({ to: "/reservations/$id", params: { id: row.key } }),
  }[group];
  return (
    <DataTable
      name={`cost-${group}`}
      label={t("cost.table_label")}
      columns={columns}
      rows={costs.items}
      rowId={(row) => row.key}
      onOpen={open}
      sort={group === "day" ? "-name" : undefined}
      foot={foot}
      empty={<EmptyState title={t("cost.empty_title")} text={t("cost.empty_text")} />}
    />
  );
}
