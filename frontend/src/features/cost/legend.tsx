import { PartMark } from "@/features/cost/part-mark";
import { PART_NAMES, PARTS } from "@/features/cost/series";
import { useT } from "@/lib/i18n";
import classes from "@/features/cost/cost.module.css";

export function Legend({ hasUnread }: { hasUnread: boolean }) {
  const t = useT();
  return (
    <ul className={classes.legend} aria-label={t("cost.legend")}>
      {PARTS.filter((part) => part !== "unread" || hasUnread).map((part) => (
        <li key={part}>
          <PartMark part={part} />
          {t(PART_NAMES[part])}
        </li>
      ))}
    </ul>
  );
}
