/** Where a popover stands: by its anchor, inside the window. It lives in the browser's top layer, so nothing cuts it. */
const GAP = 4;
const EDGE = 8;

export function placeBy(anchor: DOMRect, popover: HTMLElement, align: "start" | "center" | "end" = "center"): void {
  const { width, height } = popover.getBoundingClientRect();
  const free = window.innerHeight - anchor.bottom;
  const isBelow = free >= height + GAP + EDGE || free >= anchor.top;
  const top = isBelow ? anchor.bottom + GAP : anchor.top - height - GAP;
  const wished = {
    start: anchor.left,
    center: anchor.left + (anchor.width - width) / 2,
    end: anchor.right - width,
  }[align];
  const left = Math.max(EDGE, Math.min(wished, window.innerWidth - width - EDGE));
  popover.style.top = `${Math.max(EDGE, top)}px`;
  popover.style.left = `${left}px`;
}

/** Shows or hides an element of `popover="manual"`; a browser without popovers shows no hint, and loses nothing else. */
export function togglePopover(element: HTMLElement, isShown: boolean): void {
  if (typeof element.showPopover !== "function" || element.matches(":popover-open") === isShown) return;
  if (isShown) element.showPopover();
  else element.hidePopover();
}
