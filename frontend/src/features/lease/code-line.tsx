import { CopyButton } from "@/components/copy-button";
import classes from "@/features/lease/code-line.module.css";

/** Something to paste into a terminal, with its button. */
export function CodeLine({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <div className={classes.label}>{label}</div>
      <div className={classes.line}>
        {/* A long line scrolls, so the keyboard must reach it.
            eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre className={classes.code} tabIndex={0} aria-label={label}>
          {text}
        </pre>
        <CopyButton text={text} label={label} />
      </div>
    </div>
  );
}
