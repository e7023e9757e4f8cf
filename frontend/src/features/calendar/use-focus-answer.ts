import { useEffect, type RefObject } from "react";
import type { Board } from "./use-board";

/** Puts the focus on what comes next once the answer is there, for somebody who works with keys. */
export function useFocusAnswer(board: Board, panel: RefObject<HTMLElement | null>): void {
  const { wantsFocus, quote, refusal } = board;
  const answer = quote.data?.id;
  const isRefused = refusal !== null;
  useEffect(() => {
    if (!wantsFocus.current || answer === undefined) return;
    const next = panel.current?.querySelector<HTMLElement>("[data-next]");
    if (!next) return;
    wantsFocus.current = false;
    next.focus();
  }, [wantsFocus, panel, answer, isRefused]);
}
