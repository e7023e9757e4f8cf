import { Button } from "@mantine/core";
import {
  getCoreRowModel,
  getFilteredRowModel,
  getSortedRowModel,
  useReactTable,
  type SortingState,
} from "@tanstack/react-table";
import { useMemo, useState, type ReactNode } from "react";
import { useSearchText } from "@/hooks/use-search-text";
import { useT } from "@/lib/i18n";
import { DataTableBar } from "@/components/data-table-bar";
import { DataTableBody } from "@/components/data-table-body";
import { toColumnDefs, useKeptColumns, type Column } from "@/components/data-table-columns";
import { DataTableFoot } from "@/components/data-table-foot";
import { DataTableHead } from "@/components/data-table-head";
import { EmptyState } from "@/components/empty-state";
import classes from "@/components/data-table.module.css";

export type { Column } from "@/components/data-table-columns";

type DataTableProps<Row> = {
  /** The choice of columns is kept under this name. */
  name: string;
  /** What the table lists, for readers that do not see. */
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowId: (row: Row) => string;
  /** Enter or a click on a row. */
  onOpen?: (row: Row) => void;
  /** Search parameters that hold the filter and the order: another for a second table of one page. */
  filterParam?: string;
  sortParam?: string;
  /** First order, such as `-created`. */
  sort?: string;
  tools?: ReactNode;
  /** Shown instead of the table when there is no row at all. */
  empty: ReactNode;
  /** The sums, by column id, under the rows: of all rows, whatever is filtered. */
  foot?: Record<string, ReactNode>;
  /** More rows are to be had from the server; `auto` reads them as one comes near the end. */
  more?: { load: () => void; busy: boolean; auto?: boolean } | null;
  /** The server filters and orders: rows stand as they came. A column's id is then the server's word for its order. */
  server?: boolean;
  /** Said in place of the number of rows. */
  count?: string;
};

const toSorting = (text: string): SortingState =>
  text ? [{ id: text.replace(/^-/, ""), desc: text.startsWith("-") }] : [];

const fromSorting = (state: SortingState): string => {
  const [first] = state;
  return first ? `${first.desc ? "-" : ""}${first.id}` : "";
};

/** Rows with a head that stays, order and filter in the address, kept columns, and arrow keys. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { name, label, columns, rows, rowId, onOpen, tools, empty, foot, more, server = false, count } = props;
  const t = useT();
  // In state: the body measures it, and is drawn before it is there.
  const [scroll, setScroll] = useState<HTMLDivElement | null>(null);
  const [filter, setFilter] = useSearchText(props.filterParam ?? "q");
  const [sortText, setSort] = useSearchText(props.sortParam ?? "sort");
  const [shown, keepShown] = useKeptColumns(name, columns);
  const defs = useMemo(() => toColumnDefs(columns), [columns]);
  // The same array for the same order: a new one would be a change, and each change draws anew.
  const order = sortText || (props.sort ?? "");
  const sorting = useMemo(() => toSorting(order), [order]);
  const table = useReactTable({
    data: rows,
    columns: defs,
    getRowId: rowId,
    state: { globalFilter: filter, sorting, columnVisibility: shown },
    onSortingChange: (change) => setSort(fromSorting(typeof change === "function" ? change(sorting) : change)),
    onColumnVisibilityChange: (change) => keepShown(typeof change === "function" ? change(shown) : change),
    // There are no pages to go back to the first of; the library would do so after each change of anything.
    autoResetAll: false,
    manualFiltering: server,
    manualSorting: server,
    globalFilterFn: "includesString",
    getColumnCanGlobalFilter: (column) => column.columnDef.enableGlobalFilter !== false,
    getCoreRowModel: getCoreRowModel(),
    getFilteredRowModel: getFilteredRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const matching = table.getRowModel().rows.length;
  if (rows.length === 0 && !filter) return <div className={classes.frame}>{tools ? <div className={classes.bar}>{tools}</div> : null}{empty}</div>;
  return (
    <div className={classes.frame}>
      <DataTableBar table={table} filter={filter} onFilter={setFilter} tools={tools} shown={matching} total={rows.length} count={count} />
      <div className={classes.scroll} ref={setScroll}>
        <table className={classes.table} role="grid" aria-label={label} aria-rowcount={more ? -1 : matching + 1}>
          <DataTableHead table={table} />
          <DataTableBody table={table} scroll={scroll} onOpen={onOpen} onNearEnd={more?.auto && !more.busy ? more.load : undefined} />
          {foot && <DataTableFoot table={table} foot={foot} />}
        </table>
      </div>
      {matching === 0 && (
        <EmptyState
          title={t("common.nothing_matches")}
          text=""
          action={
            <Button variant="default" size="xs" onClick={() => setFilter("")}>
              {t("common.clear_filter")}
            </Button>
          }
        />
      )}
      {more && (
        <div className={classes.foot}>
          <Button variant="default" size="xs" loading={more.busy} onClick={more.load}>
            {t("common.show_more")}
          </Button>
        </div>
      )}
    </div>
  );
}
