import { Button, VisuallyHidden } from "@mantine/core";
import { useMemo, useRef, useState, type KeyboardEvent } from "react";
import { EmptyState } from "@/components/empty-state";
import { useMe } from "@/hooks/use-me";
import { useT } from "@/lib/i18n";
import { CalendarGrid } from "./calendar-grid";
import classes from "./calendar.module.css";
import type { Drawing } from "./drawing";
import { Legend } from "./legend";
import { NextFit } from "./next-fit";
import { dateOf, type Range } from "./range";
import { ReservePanel } from "./reserve-panel";
import { kept, rowsOf, type Row } from "./rows";
import { sayAnswer, sayPeriod, sayRow } from "./say";
import type { Item } from "./types";
import { useBoard } from "./use-board";
import type { CalendarParams } from "./use-calendar-params";
import { useFocusAnswer } from "./use-focus-answer";

type WideCalendarProps = {
  items: Item[];
  /** Of an earlier choice: the answer to this one is on its way. */
  isOld: boolean;
  params: CalendarParams;
  change: (change: Partial<Omit<CalendarParams, "size">> & Partial<CalendarParams["size"]>) => void;
  range: Range;
  zone: string;
};

/** The fleet's time on a grid, and the panel in which each of the four ways to reserve ends. */
export function WideCalendar({ items, isOld, params, change, range, zone }: WideCalendarProps) {
  const t = useT();
  const me = useMe();
  const board = useBoard(items, params.size, change);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [said, setSaid] = useState("");
  const panel = useRef<HTMLElement | null>(null);
  const { model, rack, fitsOnly } = params;
  const shown = useMemo(() => kept(items, { model, rack, fitsOnly }), [items, model, rack, fitsOnly]);
  const rows = useMemo(() => rowsOf(shown, closed), [shown, closed]);
  useFocusAnswer(board, panel);

  const onToggle = (id: string) =>
    setClosed((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  const onMove = (row: Row, drawing: Drawing | null) => {
    setSaid(drawing ? sayPeriod(t, row, drawing, zone) : sayRow(t, row, range, zone));
    if (drawing && (drawing.head < range.from || drawing.head >= range.to)) change({ date: dateOf(drawing.head, zone) });
  };
  const onEscape = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented || !(board.state.drawing || board.state.chosen)) return;
    board.dispatch({ type: "cancel" });
    panel.current?.closest(`.${classes.board}`)?.querySelector<HTMLElement>("[role=treegrid]")?.focus();
    // After the focus, which says where it is.
    setSaid(t("calendar.say_cancelled"));
  };

  if (items.length === 0) {
    return (
      <EmptyState
        title={t("calendar.no_devices")}
        text={t(me.is_operator ? "calendar.no_devices_operator" : "calendar.no_devices_text")}
      />
    );
  }
  const fitsNowhere = !isOld && kept(items, { model, rack, fitsOnly: true }).length === 0;
  return (
    <>
      {fitsNowhere && (
        <NextFit size={params.size} range={range} zone={zone} onJump={(at) => change({ date: dateOf(at, zone) })} />
      )}
      {/* Escape gives up from anywhere on the board. */}
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions */}
      <div className={classes.board} onKeyDown={onEscape} aria-busy={isOld}>
        <div className={classes.main}>
          {rows.length === 0 ? (
            <EmptyState
              title={t("calendar.nothing_shown")}
              text={t("calendar.nothing_shown_text")}
              action={
                <Button size="xs" variant="default" onClick={() => change({ model: "", rack: "", fitsOnly: false })}>
                  {t("common.clear_filter")}
                </Button>
              }
            />
          ) : (
            <CalendarGrid
              rows={rows}
              devices={shown.length}
              view={params.view}
              range={range}
              zone={zone}
              board={board}
              onToggle={onToggle}
              onMove={onMove}
            />
          )}
          <Legend size={params.size} />
        </div>
        <section className={classes.panel} aria-label={t("calendar.panel")} ref={panel}>
          <ReservePanel board={board} items={items} zone={zone} hint={t("calendar.how")} />
        </section>
      </div>
      <VisuallyHidden role="status" aria-live="polite" data-testid="calendar-said">
        {board.state.drawing?.way === "keys" ? said : (sayAnswer(t, board, zone) ?? said)}
      </VisuallyHidden>
    </>
  );
}
