/** The map under a mouse, a finger or two, and a wheel. */
import { useEffect, useRef, type PointerEvent as ReactPointerEvent, type RefObject } from "react";
import { pan, toWorld, zoomAt } from "@/features/fleet/camera";
import { findAt, type Layout } from "@/features/fleet/layout";
import type { MapPainter } from "@/features/fleet/map-painter";

type Point = { x: number; y: number };
export type Hit = { device: number | null; at: Point };
type Handlers = {
  onHover: (hit: Hit) => void;
  onPick: (hit: Hit, adds: boolean) => void;
  onClose: (hit: Hit) => void;
};

/** Less than this is a click with an unsteady hand, not a drag. */
const STEADY = 5;

export function usePointer(frame: RefObject<HTMLDivElement | null>, painter: MapPainter, layout: Layout, handlers: Handlers) {
  const fingers = useRef(new Map<number, Point>());
  const moved = useRef(0);

  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    // React listens passively; a wheel that zooms must not scroll the page too.
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const factor = Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016));
      const at = pointOf(element, event);
      painter.move((camera) => zoomAt(camera, factor, at, painter.world(), painter.window()));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [frame, painter]);

  const hitAt = (at: Point): Hit => {
    const world = toWorld(painter.camera(), at.x, at.y);
    return { device: findAt(layout, world.x, world.y)?.cell?.device ?? null, at };
  };

  const onPointerDown = (event: ReactPointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    fingers.current.set(event.pointerId, pointOf(event.currentTarget, event));
    if (fingers.current.size === 1) moved.current = 0;
  };

  const onPointerMove = (event: ReactPointerEvent<HTMLDivElement>) => {
    const at = pointOf(event.currentTarget, event);
    const before = fingers.current.get(event.pointerId);
    if (!before) {
      handlers.onHover(hitAt(at));
      return;
    }
    const others = [...fingers.current].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    fingers.current.set(event.pointerId, at);
    moved.current += Math.hypot(at.x - before.x, at.y - before.y);
    const [other] = others;
    if (!other) {
      if (moved.current > STEADY) painter.move((camera) => pan(camera, at.x - before.x, at.y - before.y));
      return;
    }
    moved.current = STEADY + 1;
    const factor = Math.hypot(at.x - other.x, at.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 };
    painter.move((camera) => {
      const panned = pan(camera, (at.x - before.x) / 2, (at.y - before.y) / 2);
      return zoomAt(panned, factor, middle, painter.world(), painter.window());
    });
  };

  const onPointerUp = (event: ReactPointerEvent<HTMLDivElement>) => {
    const wasDown = fingers.current.delete(event.pointerId);
    if (!wasDown || moved.current > STEADY || fingers.current.size > 0) return;
    handlers.onPick(hitAt(pointOf(event.currentTarget, event)), event.shiftKey || event.ctrlKey || event.metaKey);
  };

  const onPointerCancel = (event: ReactPointerEvent<HTMLDivElement>) => fingers.current.delete(event.pointerId);
  const onPointerLeave = () => handlers.onHover({ device: null, at: { x: 0, y: 0 } });
  const onDoubleClick = (event: React.MouseEvent<HTMLDivElement>) =>
    handlers.onClose(hitAt(pointOf(event.currentTarget, event.nativeEvent)));

  return { onPointerDown, onPointerMove, onPointerUp, onPointerCancel, onPointerLeave, onDoubleClick };
}

function pointOf(element: HTMLElement, event: { clientX: number; clientY: number }): Point {
  const box = element.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}
