import { useEffect, useRef, type RefObject } from "react";
import type { Board } from "./use-board";

/** Puts the focus on what comes next once the answer is there, for somebody who works with keys. */
export function useFocusAnswer(board: Board, panelRef: RefObject<HTMLElement | null>): void {
  const { focusWish, quote, refusal } = board;
  const served = useRef(0);
  const answer = quote.data?.id;
  const isRefused = refusal !== null;
  useEffect(() => {
    if (served.current === focusWish || answer === undefined) return;
    const next = panelRef.current?.querySelector<HTMLElement>("[data-next]");
    if (!next) return;
    served.current = focusWish;
    next.focus();
  }, [focusWish, panelRef, answer, isRefused]);
}
