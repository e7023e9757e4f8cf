import type { LinkProps } from "@tanstack/react-router";
import type { IconName } from "@/components/icon";
import type { MessageKey } from "@/lib/i18n";

export type NavEntry = {
  to: LinkProps["to"] & string;
  icon: IconName;
  label: MessageKey;
  /** In the bottom bar of a phone too; the others are behind "More". */
  phone?: boolean;
  /** For those who run the fleet. */
  operator?: boolean;
};

/** The pages in the order of a tenant's day. An entry comes with its page. */
export const NAVIGATION: NavEntry[] = [
  { to: "/", icon: "home", label: "shell.nav.home", phone: true },
  { to: "/offers", icon: "offers", label: "shell.nav.offers" },
  { to: "/reserve", icon: "reserve", label: "shell.nav.reserve", phone: true },
  { to: "/calendar", icon: "calendar", label: "shell.nav.calendar" },
  { to: "/reservations", icon: "reservations", label: "shell.nav.reservations", phone: true },
  { to: "/fleet", icon: "fleet", label: "shell.nav.fleet" },
  { to: "/nodes", icon: "nodes", label: "shell.nav.nodes", operator: true },
  { to: "/cost", icon: "cost", label: "shell.nav.cost", phone: true },
  { to: "/events", icon: "events", label: "shell.nav.events" },
  { to: "/access", icon: "access", label: "shell.nav.access" },
];

/** What somebody can use. */
export const navigationOf = (me: { is_operator: boolean }): NavEntry[] =>
  NAVIGATION.filter((entry) => me.is_operator || !entry.operator);
