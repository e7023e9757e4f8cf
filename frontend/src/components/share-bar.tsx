import { useT } from "@/lib/i18n";
import classes from "@/components/share-bar.module.css";

type ShareBarProps = {
  /** null: not known, drawn hatched, never as empty. */
  used: number | null;
  limit: number;
  /** What is measured, for readers that do not see: "Memory". */
  label: string;
  format?: (value: number) => string;
};

/** How much of a limit is used. */
export function ShareBar({ used, limit, label, format = String }: ShareBarProps) {
  const t = useT();
  if (used === null || limit <= 0) {
    return (
      <div className={classes.track} role="img" aria-label={`${label}: ${t("common.unknown")}`}>
        <div className={classes.unknown} />
      </div>
    );
  }
  const text = t("reading.used_of", { used: format(used), limit: format(limit) });
  return (
    <div
      className={classes.track}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={Math.min(used, limit)}
      aria-valuetext={text}
    >
      <div
        className={`${classes.fill} ${used >= limit ? classes.over : ""}`}
        style={{ width: `${Math.min(100, (used / limit) * 100)}%` }}
      />
    </div>
  );
}
