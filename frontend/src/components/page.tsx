import { useEffect, type ReactNode } from "react";
import { useT } from "@/lib/i18n";
import classes from "@/components/page.module.css";

type PageProps = {
  title: string;
  /** Stands in place of the heading, and has the page's h1 in it. */
  heading?: ReactNode;
  /** The page's one primary action, always at the end of the head. */
  primary?: ReactNode;
  /** Quiet things beside it: a range, a state, a link. */
  aside?: ReactNode;
  children: ReactNode;
};

/** A page's frame: its heading, which is the tab's title too, and its actions at one place. */
export function Page({ title, heading, primary, aside, children }: PageProps) {
  const t = useT();
  const product = t("common.product");
  useEffect(() => {
    document.title = `${title} · ${product}`;
  }, [title, product]);
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        {heading ?? (
          <h1 className={classes.title} dir="auto">
            {title}
          </h1>
        )}
        {(aside || primary) && (
          <div className={classes.aside}>
            {aside}
            {primary}
          </div>
        )}
      </div>
      {children}
    </div>
  );
}
