import type { Row, Table } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useState, type KeyboardEvent } from "react";
import classes from "@/components/data-table.module.css";

type BodyProps<Data> = {
  table: Table<Data>;
  scroll: HTMLDivElement | null;
  onOpen?: (row: Data) => void;
  /** The rows' end comes into sight; there are more to be had. */
  onNearEnd?: (() => void) | undefined;
};

const ROW_HEIGHT = 37;
/** Fewer rows are all drawn, so that the browser's own search finds them. */
const FEW = 100;
/** So many rows before the end is near it. */
const NEAR_END = 40;

/** How far a key moves among the rows; null is no such key. */
function stepOf(key: string, rows: number): number | null {
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -rows, End: rows };
  return steps[key] ?? null;
}

export function DataTableBody<Data>({ table, scroll, onOpen, onNearEnd }: BodyProps<Data>) {
  const { rows } = table.getRowModel();
  const [active, setActive] = useState(0);
  const isVirtual = rows.length > FEW;
  const virtual = useVirtualizer({
    count: isVirtual ? rows.length : 0,
    getScrollElement: () => scroll,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  const drawn = isVirtual ? virtual.getVirtualItems() : rows.map((_, index) => ({ index, start: 0, end: 0 }));
  const isNearEnd = isVirtual && (drawn.at(-1)?.index ?? 0) >= rows.length - NEAR_END;
  useEffect(() => {
    if (isNearEnd) onNearEnd?.();
  }, [isNearEnd, onNearEnd]);
  const above = isVirtual ? (drawn[0]?.start ?? 0) : 0;
  const below = isVirtual ? virtual.getTotalSize() - (drawn.at(-1)?.end ?? 0) : 0;

  const focusRow = (index: number) => {
    setActive(index);
    if (isVirtual) virtual.scrollToIndex(index);
    requestAnimationFrame(() => scroll?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>, index: number, row: Row<Data>) => {
    if (event.target !== event.currentTarget) return;
    const step = stepOf(event.key, rows.length);
    if (event.key === "Enter" && onOpen) onOpen(row.original);
    else if (step !== null) focusRow(Math.min(rows.length - 1, Math.max(0, index + step)));
    else return;
    event.preventDefault();
  };

  return (
    <tbody>
      {above > 0 && <Gap height={above} />}
      {drawn.map(({ index }) => {
        const row = rows[index];
        if (!row) return null;
        return (
          <tr
            key={row.id}
            role="row"
            data-index={index}
            ref={isVirtual ? virtual.measureElement : undefined}
            aria-rowindex={index + 2}
            tabIndex={index === Math.min(active, rows.length - 1) ? 0 : -1}
            className={`${classes.row} ${onOpen ? classes.opens : ""}`}
            onFocus={() => setActive(index)}
            onKeyDown={(event) => onKeyDown(event, index, row)}
            onClick={(event) => {
              if (onOpen && !isControl(event.target)) onOpen(row.original);
            }}
          >
            {row.getVisibleCells().map((cell) => (
              <td key={cell.id} className={`${classes.td} ${cell.column.columnDef.meta?.end ? classes.end : ""}`}>
                {cell.column.columnDef.meta?.cell?.(row.original)}
              </td>
            ))}
          </tr>
        );
      })}
      {below > 0 && <Gap height={below} />}
    </tbody>
  );
}

/** A click on a link or a button inside the row is not a click on the row; nor is marking text. */
function isControl(target: EventTarget): boolean {
  if (window.getSelection()?.type === "Range") return true;
  return target instanceof Element && target.closest("a, button, input, label, select, summary") !== null;
}

function Gap({ height }: { height: number }) {
  return (
    <tr aria-hidden="true">
      <td style={{ height, padding: 0 }} />
    </tr>
  );
}
