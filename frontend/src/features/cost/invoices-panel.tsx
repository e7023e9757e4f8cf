import { useMemo } from "react";
import { DataTable, type Column } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Icon } from "@/components/icon";
import { Money } from "@/components/money";
import { ProblemAlert } from "@/components/problem-alert";
import { SimulatedBadge } from "@/components/simulated-badge";
import { SkeletonRows } from "@/components/skeleton-rows";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import { usePages } from "@/hooks/use-pages";
import { api, dataOf, type Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { amountToNumber } from "@/lib/money";
import { keys } from "@/lib/query-keys";
import { formatInstant } from "@/lib/time-format";
import classes from "@/features/cost/cost.module.css";

type Invoice = Schema<"InvoiceSummary">;

/** An invoice's days in its own zone; the end is not included. */
function periodText(invoice: Invoice): string {
  const last = new Date(new Date(invoice.ends_at).getTime() - 1);
  const year = formatInstant(last, invoice.zone, "exact").match(/\d{4}/)?.[0] ?? "";
  return `${formatInstant(invoice.starts_at, invoice.zone, "date")} \u2013 ${formatInstant(last, invoice.zone, "date")} ${year}`;
}

export function InvoicesPanel() {
  const t = useT();
  const { items, isPending, error, refetch, more } = usePages<Invoice>(keys.invoices, (cursor, signal) =>
    dataOf(api.GET("/api/v1/invoices", { params: { query: { cursor, limit: 100 } }, signal })),
  );
  const columns = useMemo<Column<Invoice>[]>(
    () => [
      {
        id: "number",
        head: t("cost.invoice_number"),
        value: (row) => row.number,
        cell: (row) => (
          <span className={classes.withBadge}>
            {row.number} {row.simulated && <SimulatedBadge />}
          </span>
        ),
        fixed: true,
      },
      { id: "period", head: t("cost.invoice_period"), value: (row) => row.starts_at, cell: periodText },
      { id: "state", head: t("cost.invoice_state"), value: (row) => row.state, cell: (row) => <StateBadge state={row.state} /> },
      { id: "issued", head: t("cost.invoice_issued"), value: (row) => row.issued_at, cell: (row) => <When at={row.issued_at} /> },
      {
        id: "total",
        head: t("cost.invoice_total"),
        value: (row) => amountToNumber(row.total),
        cell: (row) => <Money amount={row.total} currency={row.currency} />,
        end: true,
      },
      {
        id: "csv",
        head: t("cost.invoice_file"),
        cell: (row) => (
          <a
            className={classes.download}
            href={`/api/v1/invoices/${row.id}/csv`}
            download
            aria-label={t("cost.invoice_csv", { number: row.number })}
          >
            <Icon name="download" size={14} /> CSV
          </a>
        ),
      },
    ],
    [t],
  );
  if (isPending) return <SkeletonRows rows={3} />;
  if (error && items.length === 0) return <ProblemAlert problem={error} retry={refetch} />;
  return (
    <DataTable
      name="invoices"
      label={t("cost.invoices")}
      columns={columns}
      rows={items}
      rowId={(row) => row.id}
      filterParam="iq"
      sortParam="isort"
      more={more}
      empty={<EmptyState title={t("cost.no_invoice_title")} text={t("cost.no_invoice_text")} />}
    />
  );
}
