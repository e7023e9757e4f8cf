import { useId, type ReactNode } from "react";
import classes from "@/components/panel.module.css";

type PanelProps = { title?: string; aside?: ReactNode; children: ReactNode };

/** One thing of a page, on its own ground. */
export function Panel({ title, aside, children }: PanelProps) {
  const id = useId();
  return (
    <section className={classes.panel} aria-labelledby={title ? id : undefined}>
      {(title || aside) && (
        <div className={classes.head}>
          {title && (
            <h2 className={classes.title} id={id}>
              {title}
            </h2>
          )}
          {aside}
        </div>
      )}
      {children}
    </section>
  );
}
