import { useId, useRef, type ReactNode, type ToggleEvent } from "react";
import { placeBy, togglePopover } from "@/lib/place";
import classes from "@/components/popup.module.css";

type PopupProps = {
  /** The button's name. */
  label: string;
  /** What the button shows. */
  face: ReactNode;
  className?: string;
  align?: "start" | "end";
  /** Gets the function that closes it. */
  children: (close: () => void) => ReactNode;
};

/** A button and what it opens, by the browser's own popover: Escape and a click elsewhere close it. */
export function Popup({ label, face, className, align = "start", children }: PopupProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const close = () => {
    const opened = document.getElementById(id);
    if (opened) togglePopover(opened, false);
  };
  const place = (event: ToggleEvent<HTMLDivElement>) => {
    if (event.newState === "open" && button.current && panel.current) {
      placeBy(button.current.getBoundingClientRect(), panel.current, align);
    }
  };
  return (
    <>
      <button ref={button} type="button" className={className} popoverTarget={id} aria-label={label} aria-haspopup="dialog">
        {face}
      </button>
      <div ref={panel} id={id} popover="auto" role="dialog" aria-label={label} className={classes.panel} onToggle={place}>
        {children(close)}
      </div>
    </>
  );
}

type ChoiceOption<Value extends string> = { value: Value; word: string; note?: string };

type ChoicesProps<Value extends string> = {
  legend: string;
  value: Value;
  options: ChoiceOption<Value>[];
  onChange: (value: Value) => void;
};

/** One of a few. */
export function Choices<Value extends string>({ legend, value, options, onChange }: ChoicesProps<Value>) {
  const name = useId();
  return (
    <fieldset className={classes.group}>
      <legend className={classes.legend}>{legend}</legend>
      {options.map((option) => (
        <label key={option.value} className={classes.choice}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span className={classes.word} dir="auto">
            {option.word}
          </span>
          {option.note && <span className={classes.note}>{option.note}</span>}
        </label>
      ))}
    </fieldset>
  );
}

type TicksProps = {
  legend: string;
  options: { value: string; word: string; on: boolean }[];
  onToggle: (value: string) => void;
};

/** Any of a few. */
export function Ticks({ legend, options, onToggle }: TicksProps) {
  return (
    <fieldset className={classes.group}>
      <legend className={classes.legend}>{legend}</legend>
      {options.map((option) => (
        <label key={option.value} className={classes.choice}>
          <input type="checkbox" checked={option.on} onChange={() => onToggle(option.value)} />
          <span className={classes.word}>{option.word}</span>
        </label>
      ))}
    </fieldset>
  );
}
