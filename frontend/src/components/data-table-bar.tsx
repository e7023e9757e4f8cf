import { ActionIcon, TextInput } from "@mantine/core";
import type { Table } from "@tanstack/react-table";
import type { ReactNode } from "react";
import { useT } from "@/lib/i18n";
import { Icon } from "@/components/icon";
import { Popup, Ticks } from "@/components/popup";
import classes from "@/components/data-table.module.css";

type BarProps<Row> = {
  table: Table<Row>;
  filter: string;
  onFilter: (text: string) => void;
  tools?: ReactNode;
  shown: number;
  total: number;
  count?: string | undefined;
};

/** Above the rows: the filter, the page's own tools, the choice of columns, the count. */
export function DataTableBar<Row>({ table, filter, onFilter, tools, shown, total, count }: BarProps<Row>) {
  const t = useT();
  const choices = table.getAllLeafColumns().filter((column) => column.getCanHide());
  return (
    <div className={classes.bar}>
      <TextInput
        size="xs"
        aria-label={t("common.filter")}
        placeholder={t("common.filter")}
        leftSection={<Icon name="search" size={14} />}
        value={filter}
        onChange={(event) => onFilter(event.currentTarget.value)}
        rightSection={
          filter && (
            <ActionIcon variant="subtle" color="gray" size={20} aria-label={t("common.clear_filter")} onClick={() => onFilter("")}>
              <Icon name="cross" size={12} />
            </ActionIcon>
          )
        }
      />
      {tools}
      <span className={classes.count} role="status">
        {count ?? (shown === total
          ? t("common.rows", { n: total })
          : t("common.rows_of", { shown: String(shown), n: total }))}
      </span>
      {choices.length > 1 && (
        <Popup
          label={t("common.columns")}
          className={classes.columns}
          align="end"
          face={
            <>
              <Icon name="columns" size={14} />
              {t("common.columns")}
            </>
          }
        >
          {() => (
            <Ticks
              legend={t("common.columns")}
              options={choices.map((column) => ({
                value: column.id,
                word: String(column.columnDef.header),
                on: column.getIsVisible(),
              }))}
              onToggle={(id) => table.getColumn(id)?.toggleVisibility()}
            />
          )}
        </Popup>
      )}
    </div>
  );
}
