import { useState, type ReactNode } from "react";
import type { ColumnDef, RowData, VisibilityState } from "@tanstack/react-table";
import { readStored, writeStored } from "@/lib/stored";

export type Column<Row> = {
  id: string;
  /** The head; a unit belongs here, not into every cell. */
  head: string;
  /** What the column sorts and filters by; null sorts last. A column without it does neither. */
  value?: (row: Row) => string | number | null;
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the end. */
  end?: boolean;
  /** Always shown: the row would be nameless without it. */
  fixed?: boolean;
  /** Not shown until chosen. */
  hidden?: boolean;
};

declare module "@tanstack/react-table" {
  // The names of the parameters are the library's.
  interface ColumnMeta<TData extends RowData, TValue> {
    end?: boolean;
    cell?: (row: TData) => ReactNode;
    /** Only so that the parameter is used. */
    value?: TValue;
  }
}

export function toColumnDefs<Row>(columns: Column<Row>[]): ColumnDef<Row>[] {
  return columns.map((column) => ({
    id: column.id,
    header: column.head,
    accessorFn: (row) => column.value?.(row) ?? undefined,
    sortUndefined: "last",
    enableSorting: column.value !== undefined,
    enableGlobalFilter: column.value !== undefined,
    enableHiding: !column.fixed,
    meta: { end: column.end, cell: column.cell },
  }));
}

/** Which columns are shown, kept in this browser under the table's name. */
export function useKeptColumns<Row>(table: string, columns: Column<Row>[]) {
  const name = `columns.${table}`;
  const [shown, setShown] = useState<VisibilityState>(() => {
    const initial = Object.fromEntries(columns.map((column) => [column.id, !column.hidden]));
    return { ...initial, ...readKept(name) };
  });
  const keep = (next: VisibilityState) => {
    writeStored(name, JSON.stringify(next));
    setShown(next);
  };
  return [shown, keep] as const;
}

function readKept(name: string): VisibilityState {
  try {
    const kept: unknown = JSON.parse(readStored(name) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as VisibilityState) : {};
  } catch {
    // Written by an older version or by hand: as if nothing was kept.
    return {};
  }
}
