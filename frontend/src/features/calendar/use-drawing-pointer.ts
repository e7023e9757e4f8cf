import { useRef, type Dispatch, type PointerEvent } from "react";
import type { DrawAction } from "./drawing";
import { clamp, LABEL_PX, snapDown, STEP_MS, type Span } from "./range";

type Press = { device: string; slot: number; x: number; track: HTMLElement; isDrag: boolean };

type Options = { range: Span; width: number; /** Nothing starts before. */ earliest: number; dispatch: Dispatch<DrawAction> };

/** A hand that shakes is not dragging. */
const DEAD_PX = 4;
const EDGE_PX = 28;

/**
 * Drawing with a mouse or a pen: drag, or click the start and click the end. A finger drags to scroll, so it draws by
 * two taps. The handlers go on the element around all rows; a row's track has `data-device`.
 */
export function useDrawingPointer({ range, width, earliest, dispatch }: Options) {
  const press = useRef<Press | null>(null);

  const slotAt = (track: HTMLElement, x: number): number => {
    const part = (x - track.getBoundingClientRect().left) / width;
    const at = snapDown(range.from + part * (range.to - range.from));
    return clamp(at, Math.max(range.from, earliest), range.to - STEP_MS);
  };

  const trackOf = (event: PointerEvent): HTMLElement | null => {
    const target = event.target instanceof Element ? event.target : null;
    if (!target || target.closest("a, button") || range.to <= earliest) return null;
    return target.closest<HTMLElement>("[data-device]");
  };

  return {
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      const track = event.button === 0 ? trackOf(event) : null;
      const device = track?.dataset["device"];
      if (!track || device === undefined) return;
      press.current = { device, slot: slotAt(track, event.clientX), x: event.clientX, track, isDrag: false };
      if (event.pointerType !== "touch") event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      const held = press.current;
      if (!held) {
        const track = event.pointerType === "touch" ? null : trackOf(event);
        const device = track?.dataset["device"];
        if (track && device !== undefined) dispatch({ type: "hover", device, slot: slotAt(track, event.clientX) });
        return;
      }
      if (event.pointerType === "touch") return;
      held.isDrag ||= Math.abs(event.clientX - held.x) > DEAD_PX;
      if (!held.isDrag) return;
      scrollAlong(event.currentTarget.parentElement, event.clientX);
      dispatch({ type: "drag", device: held.device, anchor: held.slot, head: slotAt(held.track, event.clientX) });
    },
    onPointerUp: () => {
      const held = press.current;
      press.current = null;
      if (!held) return;
      dispatch(held.isDrag ? { type: "drop" } : { type: "click", device: held.device, slot: held.slot });
    },
    onPointerCancel: () => {
      if (press.current?.isDrag) dispatch({ type: "cancel" });
      press.current = null;
    },
  };
}

/** Near an edge a drag pulls the rest of the time into sight. */
function scrollAlong(scroller: HTMLElement | null, x: number): void {
  if (!scroller) return;
  const { left, right } = scroller.getBoundingClientRect();
  if (x > right - EDGE_PX) scroller.scrollLeft += EDGE_PX / 2;
  else if (x < left + EDGE_PX + LABEL_PX) scroller.scrollLeft -= EDGE_PX / 2;
}
