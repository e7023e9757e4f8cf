import { Menu, UnstyledButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { NAVIGATION } from "@/app/navigation";
import { Icon } from "@/components/icon";
import { useT } from "@/lib/i18n";
import classes from "@/app/shell.module.css";

/** A phone's navigation: the pages of the moment, the others behind "More". */
export function BottomBar() {
  const t = useT();
  const first = NAVIGATION.filter((entry) => entry.phone);
  const others = NAVIGATION.filter((entry) => !entry.phone);
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
        <Menu position="top-end">
          <Menu.Target>
            <UnstyledButton className={classes.tab}>
              <Icon name="more" size={20} />
              {t("common.more")}
            </UnstyledButton>
          </Menu.Target>
          <Menu.Dropdown>
            {others.map((entry) => (
              <Menu.Item
                key={entry.to}
                leftSection={<Icon name={entry.icon} />}
                renderRoot={(props) => <Link to={entry.to} {...props} />}
              >
                {t(entry.label)}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </nav>
  );
}
