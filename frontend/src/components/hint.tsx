import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { placeBy, togglePopover } from "@/lib/place";
import classes from "@/components/hint.module.css";

type HintProps = { text: ReactNode; children: ReactNode; /** For a child that takes the focus itself. */ around?: boolean };

const WAIT_MS = 250;

/** Something with a word of explanation, for a pointer, a finger and the keyboard alike. Escape hides it. */
export function Hint({ text, children, around = false }: HintProps) {
  const id = useId();
  const anchor = useRef<HTMLSpanElement>(null);
  const bubble = useRef<HTMLSpanElement>(null);
  const [isShown, setShown] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const soon = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setShown(true), WAIT_MS);
  };
  const hide = () => {
    clearTimeout(timer.current);
    setShown(false);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    const [here, there] = [anchor.current, bubble.current];
    if (!isShown || !here || !there) return undefined;
    togglePopover(there, true);
    placeBy(here.getBoundingClientRect(), there);
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && setShown(false);
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isShown]);
  return (
    // A hint that only a mouse can reach would be lost on a keyboard: the anchor takes the focus.
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions
    <span
      ref={anchor}
      className={classes.anchor}
      tabIndex={around ? undefined : 0}
      aria-describedby={isShown ? id : undefined}
      onPointerEnter={soon}
      onPointerLeave={hide}
      onFocus={() => setShown(true)}
      onBlur={hide}
    >
      {children}
      {isShown && (
        <span ref={bubble} id={id} role="tooltip" popover="manual" className={classes.bubble}>
          {text}
        </span>
      )}
    </span>
  );
}
