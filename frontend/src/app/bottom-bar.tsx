import { Link } from "@tanstack/react-router";
import { navigationOf } from "@/app/navigation";
import { Icon } from "@/components/icon";
import { Popup } from "@/components/popup";
import { useMe } from "@/hooks/use-me";
import { useT } from "@/lib/i18n";
import classes from "@/app/shell.module.css";

/** A phone's navigation: the pages of the moment, the others behind "More". */
export function BottomBar() {
  const t = useT();
  const entries = navigationOf(useMe());
  const first = entries.filter((entry) => entry.phone);
  const others = entries.filter((entry) => !entry.phone);
  const more = (
    <>
      <Icon name="more" size={20} />
      {t("common.more")}
    </>
  );
  return (
    <nav className={classes.bottom} aria-label={t("shell.navigation")}>
      {first.map((entry) => (
        <Link
          key={entry.to}
          to={entry.to}
          className={classes.tab}
          activeOptions={{ exact: entry.to === "/", includeSearch: false }}
        >
          <Icon name={entry.icon} size={20} />
          {t(entry.label)}
        </Link>
      ))}
      {others.length > 0 && (
        <Popup label={t("common.more")} face={more} className={classes.tab} align="end">
          {(close) =>
            others.map((entry) => (
              <Link key={entry.to} to={entry.to} className={classes.link} onClick={close}>
                <Icon name={entry.icon} size={18} />
                {t(entry.label)}
              </Link>
            ))
          }
        </Popup>
      )}
    </nav>
  );
}
