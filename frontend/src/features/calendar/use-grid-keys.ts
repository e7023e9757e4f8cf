import { useState, type Dispatch, type KeyboardEvent } from "react";
import type { DrawAction, Drawing } from "./drawing";
import { clamp, HOUR_MS, snapDown, STEP_MS, type Range } from "./range";
import type { Row } from "./rows";

type Options = {
  rows: Row[];
  range: Range;
  earliest: number;
  drawing: Drawing | null;
  dispatch: Dispatch<DrawAction>;
  onToggle: (id: string) => void;
  /** A row or a time was reached: say it, bring it into sight. */
  onMove: (row: Row, index: number, drawing: Drawing | null) => void;
  onEnter: () => void;
};

const SIDEWAYS: Record<string, number> = {
  ArrowLeft: -STEP_MS,
  ArrowRight: STEP_MS,
  PageUp: -HOUR_MS,
  PageDown: HOUR_MS,
};

/**
 * Drawing with keys: up and down go from row to row; left and right by a quarter of an hour (page keys by an hour), with
 * Shift they stretch; Enter asks the price, Escape gives up. The grid keeps the focus; the active row is only marked.
 */
export function useGridKeys(options: Options) {
  const { rows, range, earliest, drawing, dispatch, onToggle, onMove, onEnter } = options;
  const [activeId, setActiveId] = useState<string | null>(null);
  const found = rows.findIndex((row) => row.id === activeId);
  const index = found >= 0 ? found : rows.findIndex((row) => row.kind === "device");
  const active = rows[index];
  const keyed = drawing?.way === "keys" ? drawing : null;
  const first = Math.max(range.from, earliest);

  const goTo = (next: number, key: Drawing | null = keyed) => {
    const row = rows[next];
    if (!row) return;
    setActiveId(row.id);
    const moved = row.kind === "device" && key ? { ...key, device: row.id } : null;
    if (moved) dispatch({ type: "key", device: row.id, slot: moved.head, extend: false });
    onMove(row, next, moved ? { ...moved, anchor: moved.head } : null);
  };

  const slide = (row: Row, by: number, extend: boolean) => {
    // The first press puts the cursor at the first time that can be had; the next ones move it.
    const head = keyed ? Math.max(earliest, keyed.head + by) : clamp(snapDown(first), earliest, range.to - STEP_MS);
    dispatch({ type: "key", device: row.id, slot: head, extend });
    const anchor = extend && keyed?.device === row.id ? keyed.anchor : head;
    onMove(row, index, { way: "keys", device: row.id, anchor, head });
  };

  const onDevice = (row: Row, event: KeyboardEvent): boolean => {
    const by = SIDEWAYS[event.key];
    if (by !== undefined) slide(row, by, event.shiftKey);
    else if (event.key === "Enter" && keyed) onEnter();
    else return false;
    return true;
  };

  const onGroup = (row: Extract<Row, { isOpen: boolean }>, key: string): boolean => {
    const toggles = { ArrowLeft: row.isOpen, ArrowRight: !row.isOpen, Enter: true, " ": true }[key];
    if (toggles === undefined) return false;
    if (toggles) onToggle(row.id);
    return true;
  };

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.target !== event.currentTarget || event.altKey || event.ctrlKey || event.metaKey || !active) return;
    const target = { ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: rows.length - 1 }[event.key];
    const isTaken =
      target !== undefined || (active.kind === "device" ? onDevice(active, event) : onGroup(active, event.key));
    if (target !== undefined) goTo(clamp(target, 0, rows.length - 1));
    if (isTaken) event.preventDefault();
  };

  return { active, index, onKeyDown, onFocus: () => active && onMove(active, index, keyed) };
}
