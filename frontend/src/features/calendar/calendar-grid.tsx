import { useElementSize } from "@mantine/hooks";
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { useT } from "@/lib/i18n";
import classes from "./calendar.module.css";
import { DeviceRowView } from "./device-row";
import type { Drawing } from "./drawing";
import { GroupRowView } from "./group-row";
import { Lines, NowLine } from "./lines";
import type { Mark } from "./mark";
import { HOUR_MS, LABEL_PX, placeOf, type Range, type View } from "./range";
import { heightOf, type Row } from "./rows";
import { TimeHeader } from "./time-header";
import type { Board } from "./use-board";
import { useDrawingPointer } from "./use-drawing-pointer";
import { useGridKeys } from "./use-grid-keys";

type CalendarGridProps = {
  rows: Row[];
  devices: number;
  view: View;
  range: Range;
  zone: string;
  board: Board;
  onToggle: (id: string) => void;
  /** Keys reached a row or a time. */
  onMove: (row: Row, drawing: Drawing | null) => void;
};

/** Less, and a quarter of an hour is too narrow to hit. */
const LEAST_PX_PER_HOUR: Record<View, number> = { day: 28, "3days": 22, week: 14 };
const NO_MARKS: Mark[] = [];

export function CalendarGrid(props: CalendarGridProps) {
  const { rows, devices, view, range, zone, board, onToggle, onMove } = props;
  const t = useT();
  const { ref: sized, width: outer } = useElementSize<HTMLDivElement>();
  const scroller = useRef<HTMLDivElement | null>(null);
  const hours = (range.to - range.from) / HOUR_MS;
  const width = Math.max(Math.floor(outer) - LABEL_PX - 1, Math.ceil(hours * LEAST_PX_PER_HOUR[view]));

  const moved = (row: Row, index: number, drawing: Drawing | null) => {
    virtual.scrollToIndex(index);
    if (drawing && scroller.current) reveal(scroller.current, placeOf(drawing.head, range) * width);
    onMove(row, drawing);
  };
  const keys = useGridKeys({
    rows,
    range,
    earliest: board.earliest,
    drawing: board.state.drawing,
    dispatch: board.dispatch,
    onToggle,
    onMove: moved,
    onEnter: () => {
      board.wishFocus();
      board.dispatch({ type: "enter" });
    },
  });
  // Both stay the same while rows and range do, or a drag would measure a thousand rows at each move.
  const heights = useMemo(() => rows.map((row) => heightOf(row, range)), [rows, range]);
  const estimateSize = useCallback((index: number) => heights[index] ?? 0, [heights]);
  const getItemKey = useCallback((index: number) => rows[index]?.id ?? index, [rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize,
    getItemKey,
    overscan: 6,
    paddingStart: 0,
    scrollPaddingStart: 48,
    // The active row stays in the page, so that a screen reader can be told which it is.
    rangeExtractor: (seen) => [...new Set([...defaultRangeExtractor(seen), ...(keys.index >= 0 ? [keys.index] : [])])],
  });
  // Heights follow from the data: new data, new heights.
  useEffect(() => virtual.measure(), [virtual, heights]);
  useStartAtNow(scroller, range, board.now, width);
  const pointer = useDrawingPointer({ range, width, earliest: board.earliest, dispatch: board.dispatch });
  const rowId = (id: string) => `calendar-${id}`;

  return (
    <div className={classes.frame} ref={sized}>
      <div
        ref={scroller}
        className={classes.scroll}
        role="treegrid"
        aria-label={t("calendar.grid")}
        aria-describedby="calendar-keys"
        aria-rowcount={rows.length + 1}
        aria-activedescendant={keys.active ? rowId(keys.active.id) : undefined}
        tabIndex={0}
        onKeyDown={keys.onKeyDown}
        onFocus={(event) => event.target === event.currentTarget && keys.onFocus()}
      >
        <div className={classes.head} role="row" aria-rowindex={1} style={{ width: width + LABEL_PX }}>
          <div className={classes.corner} role="columnheader">
            {t("calendar.devices", { n: devices })}
          </div>
          <div role="columnheader">
            <TimeHeader range={range} zone={zone} now={board.now} width={width} />
          </div>
        </div>
        <div className={classes.body} role="rowgroup" style={{ height: virtual.getTotalSize(), width: width + LABEL_PX }} {...pointer}>
          <Lines range={range} zone={zone} now={board.now} width={width} />
          {virtual.getVirtualItems().map((seen) => {
            const row = rows[seen.index];
            if (!row) return null;
            const common = {
              id: rowId(row.id),
              index: seen.index,
              width,
              isActive: row.id === keys.active?.id,
              top: seen.start,
              height: seen.size,
            };
            return row.kind === "device" ? (
              <DeviceRowView
                key={row.id}
                {...common}
                item={row.item}
                range={range}
                zone={zone}
                marks={board.marks.get(row.id) ?? NO_MARKS}
              />
            ) : (
              <GroupRowView key={row.id} {...common} row={row} onToggle={onToggle} />
            );
          })}
          <NowLine range={range} now={board.now} width={width} />
        </div>
      </div>
    </div>
  );
}

/** Scrolls sideways just far enough. */
function reveal(scroller: HTMLElement, x: number): void {
  const seen = scroller.clientWidth - LABEL_PX;
  if (x < scroller.scrollLeft) scroller.scrollLeft = Math.max(0, x - 40);
  else if (x > scroller.scrollLeft + seen - 40) scroller.scrollLeft = x - seen + 80;
}

/** A range that holds now opens at it, a little to the right of the labels. */
function useStartAtNow(scrollerRef: { current: HTMLElement | null }, range: Range, now: number, width: number): void {
  const opened = useRef("");
  useEffect(() => {
    const screen = `${range.from} ${range.to}`;
    if (!scrollerRef.current || opened.current === screen) return;
    opened.current = screen;
    const at = placeOf(now, range);
    scrollerRef.current.scrollLeft = at > 0 && at < 1 ? Math.max(0, at * width - 80) : 0;
  }, [scrollerRef, range, now, width]);
}
