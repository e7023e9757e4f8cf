import { UnstyledButton, VisuallyHidden } from "@mantine/core";
import type { Header, Table } from "@tanstack/react-table";
import { useT } from "@/lib/i18n";
import { Icon } from "@/components/icon";
import classes from "@/components/data-table.module.css";

const ARIA = { asc: "ascending", desc: "descending" } as const;

function HeadCell<Row>({ header }: { header: Header<Row, unknown> }) {
  const t = useT();
  const { column } = header;
  const sorted = column.getIsSorted();
  const end = column.columnDef.meta?.end ? classes.end : "";
  const text = String(column.columnDef.header);
  return (
    <th className={`${classes.th} ${end}`} scope="col" aria-sort={sorted ? ARIA[sorted] : undefined}>
      {column.getCanSort() ? (
        <UnstyledButton className={`${classes.sort} ${end}`} fz={12} fw={600} onClick={column.getToggleSortingHandler()}>
          {text}
          {sorted && (
            <>
              <Icon name={sorted === "asc" ? "up" : "down"} size={12} />
              <VisuallyHidden>{t(sorted === "asc" ? "common.sort_up" : "common.sort_down")}</VisuallyHidden>
            </>
          )}
        </UnstyledButton>
      ) : (
        <div className={`${classes.plain} ${end}`}>{text}</div>
      )}
    </th>
  );
}

export function DataTableHead<Row>({ table }: { table: Table<Row> }) {
  return (
    <thead>
      {table.getHeaderGroups().map((group) => (
        <tr key={group.id}>
          {group.headers.map((header) => (
            <HeadCell key={header.id} header={header} />
          ))}
        </tr>
      ))}
    </thead>
  );
}
