/** How a period is drawn onto a device's row: by dragging, by two clicks, or by keys. Times are quarters of an hour. */
import { STEP_MS, type Span } from "./range";
import type { FormText } from "./form-text";

export type Way = "drag" | "click" | "keys";

/** Between `anchor` and `head`, both counted in. */
export type Drawing = { way: Way; device: string; anchor: number; head: number };

/** What the panel asks the price of; a null device is any that fits. */
export type Chosen = { device: string | null; from: number; to: number };

/** `edited` is the form's text while somebody types it; else the form shows what is chosen. */
export type DrawState = { drawing: Drawing | null; chosen: Chosen | null; edited: FormText | null };

export type DrawAction =
  | { type: "drag"; device: string; anchor: number; head: number }
  | { type: "drop" }
  | { type: "click"; device: string; slot: number }
  | { type: "hover"; device: string; slot: number }
  | { type: "key"; device: string; slot: number; extend: boolean }
  | { type: "enter" }
  | { type: "choose"; chosen: Chosen }
  | { type: "edit"; edited: FormText; chosen: Chosen | null }
  | { type: "cancel" }
  | { type: "clear" };

export const NOTHING: DrawState = { drawing: null, chosen: null, edited: null };

export function spanOfDrawing({ anchor, head }: Drawing): Span {
  return { from: Math.min(anchor, head), to: Math.max(anchor, head) + STEP_MS };
}

function finished(state: DrawState): DrawState {
  if (!state.drawing) return state;
  return { ...NOTHING, chosen: { device: state.drawing.device, ...spanOfDrawing(state.drawing) } };
}

function click(state: DrawState, device: string, slot: number): DrawState {
  const drawing = state.drawing;
  // The second click ends what the first began, in the same row; elsewhere it begins anew.
  if (drawing?.way === "click" && drawing.device === device) {
    return finished({ ...state, drawing: { ...drawing, head: slot } });
  }
  return { ...NOTHING, drawing: { way: "click", device, anchor: slot, head: slot } };
}

export function draw(state: DrawState, action: DrawAction): DrawState {
  const { drawing } = state;
  switch (action.type) {
    case "drag": {
      const { device, anchor, head } = action;
      return { ...NOTHING, drawing: { way: "drag", device, anchor, head } };
    }
    case "drop":
      return drawing?.way === "drag" ? finished(state) : state;
    case "click":
      return click(state, action.device, action.slot);
    case "hover":
      if (drawing?.way !== "click" || drawing.device !== action.device || drawing.head === action.slot) return state;
      return { ...state, drawing: { ...drawing, head: action.slot } };
    case "key": {
      const anchor = action.extend && drawing?.device === action.device ? drawing.anchor : action.slot;
      return { ...state, drawing: { way: "keys", device: action.device, anchor, head: action.slot } };
    }
    case "enter":
      return finished(state);
    case "choose":
      return { ...NOTHING, chosen: action.chosen };
    case "edit":
      return { drawing: null, chosen: action.chosen, edited: action.edited };
    case "cancel":
      // Escape takes back one step: first what is being drawn, then what was chosen.
      return drawing ? { ...state, drawing: null } : NOTHING;
    case "clear":
      return NOTHING;
  }
}
