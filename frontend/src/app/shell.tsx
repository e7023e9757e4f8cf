import { AppShell } from "@mantine/core";
import { Link, Outlet } from "@tanstack/react-router";
import { BottomBar } from "@/app/bottom-bar";
import { LiveProvider } from "@/app/live-provider";
import { navigationOf } from "@/app/navigation";
import { OfflineBanner } from "@/app/offline-banner";
import { ProjectSwitch } from "@/app/project-switch";
import { UserMenu } from "@/app/user-menu";
import { ZoneSwitch } from "@/app/zone-switch";
import { Icon } from "@/components/icon";
import { LiveDot } from "@/components/live-dot";
import { useLiveStatus } from "@/hooks/use-live-topic";
import { useMe } from "@/hooks/use-me";
import { useT } from "@/lib/i18n";
import classes from "@/app/shell.module.css";

/** The frame of every page: where to go, for which project, in which zone, as whom, and whether it is live. */
export function Shell() {
  const t = useT();
  const me = useMe();
  return (
    <LiveProvider>
      <a className={classes.skip} href="#content">
        {t("shell.skip")}
      </a>
      <AppShell
        header={{ height: 48 }}
        navbar={{ width: 192, breakpoint: "sm", collapsed: { mobile: true } }}
        footer={{ height: { base: 56, sm: 0 } }}
        padding={{ base: "md", sm: "lg" }}
        transitionDuration={0}
      >
        <AppShell.Header>
          <Header />
        </AppShell.Header>
        <AppShell.Navbar className={classes.navbar} aria-label={t("shell.navigation")} visibleFrom="sm">
          {navigationOf(me).map((entry) => (
            <Link
              key={entry.to}
              to={entry.to}
              className={classes.link}
              activeOptions={{ exact: entry.to === "/", includeSearch: false }}
            >
              <Icon name={entry.icon} size={18} />
              {t(entry.label)}
            </Link>
          ))}
        </AppShell.Navbar>
        <AppShell.Main className={classes.main} id="content" tabIndex={-1}>
          <OfflineBanner />
          <Outlet />
        </AppShell.Main>
        <AppShell.Footer hiddenFrom="sm">
          <BottomBar />
        </AppShell.Footer>
      </AppShell>
    </LiveProvider>
  );
}

function Header() {
  const t = useT();
  const me = useMe();
  const status = useLiveStatus();
  return (
    <div className={classes.header}>
      <Link to="/" className={classes.brand} aria-label={t("common.product")}>
        <img src={`${import.meta.env.BASE_URL}favicon.svg`} alt="" className={classes.mark} />
        <span className={classes.word}>{t("common.product")}</span>
      </Link>
      <span className={classes.tenant} dir="auto" title={me.tenant.name}>
        {me.tenant.name}
      </span>
      <ProjectSwitch />
      <span className={classes.spring} />
      <LiveDot status={status} />
      <ZoneSwitch />
      <UserMenu />
    </div>
  );
}
