import { useLayoutEffect, useState, type RefObject } from "react";
import type { Size } from "@/features/fleet/camera";

const NOTHING: Size = { w: 0, h: 0 };

/** The inner size of an element, in CSS pixels, as it changes. */
export function useFrameSize(frame: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState(NOTHING);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const measure = () =>
      setSize((before) =>
        before.w === element.clientWidth && before.h === element.clientHeight
          ? before
          : { w: element.clientWidth, h: element.clientHeight },
      );
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [frame]);
  return size;
}
