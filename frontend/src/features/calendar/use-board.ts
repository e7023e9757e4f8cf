import { useMemo, useReducer, useState } from "react";
import { useNow } from "@/hooks/use-now";
import { useProject } from "@/hooks/use-project";
import type { Problem } from "@/lib/problem";
import { waysOut, type Way } from "./alternatives";
import { draw, NOTHING, spanOfDrawing, type DrawAction, type DrawState } from "./drawing";
import type { Mark } from "./mark";
import { snapDown } from "./range";
import type { Alternative, Item, Size } from "./types";
import { usePurchase, type Bought } from "./use-purchase";
import { useQuote, type Quote } from "./use-quote";

export type Refused = { detail: string; constraints: Record<string, number>; alternatives: Alternative[] };

/** Why not: from the purchase that was refused, else from a quote that says no. */
function refusalOf(quote: Quote | undefined, problem: Problem | null): Refused | null {
  if (quote && !quote.fits && quote.refusal) return quote.refusal;
  if (problem?.code !== "no_capacity") return null;
  const { constraints = {}, alternatives = [] } = problem.data as Partial<Refused>;
  return { detail: problem.detail, constraints, alternatives };
}

/** What is to be seen on the rows, by device. */
function marksOf(state: DrawState, quote: Quote | undefined, isRefused: boolean, ways: Way[], take: (way: Way) => void) {
  const marks = new Map<string, Mark[]>();
  const add = (device: string | null | undefined, mark: Mark) => {
    if (device) marks.set(device, [...(marks.get(device) ?? []), mark]);
  };
  const { drawing, chosen } = state;
  if (chosen) {
    const device = chosen.device ?? quote?.device;
    add(device, { kind: isRefused ? "clash" : "choice", span: chosen });
    for (const way of ways) {
      // A smaller size at the same place and time would lie on what does not fit.
      const isThere = way.device === device && way.span.from === chosen.from && way.span.to === chosen.to;
      if (!isThere) add(way.device, { kind: "way", span: way.span, take: () => take(way) });
    }
  }
  if (drawing) add(drawing.device, { kind: "choice", span: spanOfDrawing(drawing) });
  return marks;
}

/** What is drawn, chosen, priced and bought on the calendar. `onSize` takes a smaller size over. */
export function useBoard(items: Item[], size: Size, onSize: (size: Size) => void) {
  const { project } = useProject();
  const now = useNow(15_000);
  const earliest = snapDown(now);
  const [state, send] = useReducer(draw, NOTHING);
  const [bought, setBought] = useState<Bought | null>(null);
  /** Grows when the next answer shall take the focus: somebody works with keys, or a button went away under him. */
  const [focusWish, wishFocus] = useReducer((count: number) => count + 1, 0);
  const quote = useQuote(state.chosen, size, project?.id ?? null);
  const purchase = usePurchase((made) => {
    setBought(made);
    send({ type: "clear" });
  });
  // A newer quote says more than the refusal of the one before.
  const isOfThisQuote = quote.data === undefined || quote.data.id === purchase.variables?.quote.id;
  const refusal = state.chosen ? refusalOf(quote.data, isOfThisQuote ? purchase.error : null) : null;
  const dispatch = (action: DrawAction) => {
    if (action.type !== "hover") {
      if (purchase.error) purchase.reset();
      if (bought) setBought(null);
    }
    send(action);
  };
  const { chosen } = state;
  const said = refusal?.alternatives;
  const ways = useMemo(
    () => (chosen && said ? waysOut(items, { device: chosen.device, span: { from: chosen.from, to: chosen.to }, size }, said, earliest) : []),
    [items, chosen, said, size, earliest],
  );
  const take = (way: Way) => {
    wishFocus();
    if (way.kind === "smaller") onSize(way.size);
    dispatch({ type: "choose", chosen: { device: way.device, from: way.span.from, to: way.span.to } });
  };
  return {
    state,
    dispatch,
    size,
    now,
    earliest,
    project,
    quote,
    purchase,
    refusal,
    isLost: purchase.error?.code === "no_capacity",
    ways,
    take,
    bought,
    forget: () => setBought(null),
    focusWish,
    wishFocus,
    reserve: (name: string) => {
      if (quote.data?.fits && !purchase.isPending) purchase.mutate({ quote: quote.data, name });
    },
    marks: marksOf(state, quote.data, refusal !== null, ways, take),
  };
}

export type Board = ReturnType<typeof useBoard>;
