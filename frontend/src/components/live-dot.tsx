import type { TopicStatus } from "@/hooks/use-live-topic";
import { useT } from "@/lib/i18n";
import { Hint } from "@/components/hint";
import { Icon, type IconName } from "@/components/icon";
import classes from "@/components/live-dot.module.css";

const ICONS: Record<TopicStatus, IconName> = { live: "checkCircle", reconnecting: "busy", off: "minus" };

/** Whether what is on screen follows the server. */
export function LiveDot({ status }: { status: TopicStatus }) {
  const t = useT();
  return (
    <Hint text={t(`shell.${status}_why`)}>
      <span className={`${classes.dot} ${classes[status]}`} role="status">
        <Icon name={ICONS[status]} size={12} />
        {t(`shell.${status}`)}
      </span>
    </Hint>
  );
}
