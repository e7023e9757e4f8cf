/** What the form's fields hold, and what they mean. */
import { toInstant, toLocalText } from "@/lib/time";
import type { Chosen } from "./drawing";
import { instantOf, whenOf, type Typed, type When } from "./when";

export type FormText = { zone: string; device: string | null; start: Typed; end: Typed };

const BLANK: Typed = { local: "", which: null };

/** An instant as it would be typed. */
export function typedOf(at: number, zone: string): Typed {
  const local = toLocalText(at, zone);
  const found = toInstant(local, zone);
  if (found.kind !== "overlap") return { local, which: null };
  return { local, which: at >= found.later.getTime() ? "later" : "earlier" };
}

export function textOf(chosen: Chosen | null, zone: string): FormText {
  if (!chosen) return { zone, device: null, start: BLANK, end: BLANK };
  return { zone, device: chosen.device, start: typedOf(chosen.from, zone), end: typedOf(chosen.to, zone) };
}

export type FormMeaning = {
  start: When;
  end: When;
  /** Both times are good, each by itself, but not together. */
  trouble: "past" | "order" | null;
  chosen: Chosen | null;
};

/** `earliest` is the quarter of an hour that is running. */
export function meaningOf(text: FormText, earliest: number): FormMeaning {
  const start = whenOf(text.start, text.zone);
  const end = whenOf(text.end, text.zone);
  const from = instantOf(start);
  const to = instantOf(end);
  const trouble = from !== null && from < earliest ? "past" : from !== null && to !== null && to <= from ? "order" : null;
  const chosen = from === null || to === null || trouble ? null : { device: text.device, from, to };
  return { start, end, trouble, chosen };
}
