import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useState } from "react";
import { mayComeFree, refusalIn, takeWay, waysOf, type Refusal, type Way } from "@/features/reserve/refusal";
import type { Size } from "@/features/reserve/proportion";
import { keyOf, type ReserveSearch } from "@/features/reserve/search";
import { computeScaleFor, offerOf, scaleFor, sizeOf, withDefaults } from "@/features/reserve/shelf";
import { terminalLines, type TerminalLines } from "@/features/reserve/terminal";
import { useDraft } from "@/features/reserve/use-draft";
import { usePurchase, type Purchase } from "@/features/reserve/use-purchase";
import { useQuote, type QuoteState } from "@/features/reserve/use-quote";
import type { ShelfState } from "@/features/reserve/use-shelf";
import { choiceOf, withSize, wishOf, type Quote } from "@/features/reserve/wish";
import { useProject } from "@/hooks/use-project";
import { serverNow } from "@/lib/clock";

export type Chooser = {
  /** What the controls show, complete. */
  shown: ReserveSearch;
  size: Size | null;
  deviceMib: number;
  devicePermille: number;
  project: string | null;
  quote: QuoteState;
  purchase: Purchase;
  refusal: Refusal | null;
  ways: Way[];
  canQueue: boolean;
  lines: TerminalLines | null;
  change: (part: Partial<ReserveSearch>) => void;
  resize: (size: Size) => void;
  take: (way: Way) => void;
  buy: (quote: Quote) => void;
  queue: () => void;
};

/** The choice, its quote and its purchase, held together. */
export function useChooser(shelf: ShelfState): Chooser {
  const { classes, device } = shelf;
  const { draft, settled, change: setDraft } = useDraft();
  const { project: usual, projects } = useProject();
  const navigate = useNavigate();
  const [tried, setTried] = useState("");
  const complete = (search: ReserveSearch) => withDefaults(search, classes, scaleFor(search, classes, device));
  const projectOf = (search: ReserveSearch) =>
    projects.find((one) => one.id === search.project)?.id ?? usual?.id ?? null;

  const shown = complete(draft);
  const meant = complete(settled);
  const choice = choiceOf(meant, projectOf(meant));
  const wanted = choiceOf(shown, projectOf(shown));
  // A name costs nothing: while it is typed the quote stands.
  const isSettled = choice !== null && wanted !== null && keyOf(choice) === keyOf(wanted);
  const quote = useQuote(choice, isSettled);
  const purchase = usePurchase((bought) => void navigate({ to: "/reservations/$id", params: { id: bought.id } }));
  const { state } = purchase;
  // A purchase has just found this quote wanting: it is no answer until there is a newer one.
  const isDoubted = state.kind === "refused" && quote.quote !== null && quote.quote.id === tried;
  const isCurrent = quote.isCurrent && !isDoubted;
  const askAgain = useEffectEvent(() => void quote.renew());
  useEffect(() => {
    if (state.kind === "refused") askAgain();
  }, [state]);
  const refusal = isDoubted ? refusalIn(state.problem) : (quote.quote?.refusal ?? null);
  const size = sizeOf(shown, classes);

  const put = (next: ReserveSearch) => {
    if (state.kind === "refused") purchase.dismiss();
    if (keyOf(next) !== keyOf(draft)) setDraft(next);
  };
  const resized = (next: Size) => withSize(shown, next, offerOf(shown, classes));
  return {
    shown,
    size,
    deviceMib: scaleFor(shown, classes, device),
    devicePermille: computeScaleFor(shown, classes, device),
    project: projectOf(shown),
    quote: { ...quote, isCurrent },
    purchase,
    refusal,
    ways: refusal === null ? [] : waysOf(refusal, size, shown.device !== undefined),
    canQueue: refusal !== null && mayComeFree(refusal) && shown.starts_at === undefined,
    lines: choice === null ? null : terminalLines({ choice, wish: wishOf(choice, serverNow()), name: shown.name ?? "" }),
    change: (part) => put({ ...shown, ...part }),
    resize: (next) => put(resized(next)),
    take: (way) => put(takeWay(shown, way, resized)),
    buy: (chosen) => {
      setTried(chosen.id);
      purchase.buy({ quote: chosen.id, name: shown.name ?? "", queue: false });
    },
    queue: () => {
      if (choice !== null) purchase.buy({ ...wishOf(choice, serverNow()), name: shown.name ?? "", queue: true });
    },
  };
}
