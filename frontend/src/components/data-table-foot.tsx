import type { Table } from "@tanstack/react-table";
import type { ReactNode } from "react";
import classes from "@/components/data-table.module.css";

type FootProps<Row> = { table: Table<Row>; foot: Record<string, ReactNode> };

/** The sums of the columns, always in sight. */
export function DataTableFoot<Row>({ table, foot }: FootProps<Row>) {
  return (
    <tfoot>
      <tr>
        {table.getVisibleLeafColumns().map((column) => (
          <td key={column.id} className={`${classes.tf} ${column.columnDef.meta?.end ? classes.end : ""}`}>
            {foot[column.id]}
          </td>
        ))}
      </tr>
    </tfoot>
  );
}
