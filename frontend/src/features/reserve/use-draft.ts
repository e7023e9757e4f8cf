import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { keyOf, parseReserveSearch, type ReserveSearch } from "@/features/reserve/search";

/** A slider moves faster than an address should: so long nothing is moved before a choice counts. */
export const SETTLE_MS = 120;

export type Draft = {
  /** What the controls show, at once. */
  draft: ReserveSearch;
  /** What the address says: what is quoted and bought. */
  settled: ReserveSearch;
  change: (next: ReserveSearch) => void;
};

/**
 * The choice lives in the address; the controls run ahead of it by a moment. An address that changes from elsewhere
 * (a link, the way back) replaces what the controls show.
 */
export function useDraft(): Draft {
  const raw: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const settled = parseReserveSearch(raw);
  const settledKey = keyOf(settled);
  const [draft, setDraft] = useState(settled);
  const [seen, setSeen] = useState(settledKey);
  // Addresses that we set and that have not arrived yet: their arrival must not undo what was moved since.
  const [sent, setSent] = useState<readonly string[]>([]);
  const draftKey = keyOf(draft);

  if (settledKey !== seen) {
    setSeen(settledKey);
    const arrived = sent.indexOf(settledKey);
    if (arrived >= 0) setSent(sent.slice(arrived + 1));
    else setDraft(settled);
  }

  useEffect(() => {
    if (draftKey === settledKey) return undefined;
    const timer = setTimeout(() => {
      setSent((before) => [...before, draftKey]);
      void navigate({ to: ".", search: () => draft as Record<string, unknown>, replace: true, resetScroll: false });
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [draft, draftKey, settledKey, navigate]);

  return { draft, settled, change: setDraft };
}
