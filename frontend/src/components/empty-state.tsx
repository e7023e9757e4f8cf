import type { ReactNode } from "react";
import classes from "@/components/empty-state.module.css";

type EmptyStateProps = { title: string; /** The next step. */ text: string; action?: ReactNode };

/** Nothing is here yet, and what to do about it. */
export function EmptyState({ title, text, action }: EmptyStateProps) {
  return (
    <div className={classes.empty}>
      <p className={classes.title}>{title}</p>
      <p className={classes.text}>{text}</p>
      {action}
    </div>
  );
}
