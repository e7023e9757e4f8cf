import { Icon } from "@/components/icon";
import { useOnline } from "@/hooks/use-online";
import { useT } from "@/lib/i18n";
import classes from "@/app/shell.module.css";

export function OfflineBanner() {
  const t = useT();
  if (useOnline()) return null;
  return (
    <div className={classes.banner} role="status">
      <Icon name="warning" />
      {t("shell.offline")}
    </div>
  );
}
