import type { LinkProps } from "@tanstack/react-router";
import type { IconName } from "@/components/icon";
import type { MessageKey } from "@/lib/i18n";

export type NavEntry = {
  to: LinkProps["to"] & string;
  icon: IconName;
  label: MessageKey;
  /** In the bottom bar of a phone too; the others are behind "More". */
  phone?: boolean;
};

/** The pages in the order of a tenant's day. An entry comes with its page. */
export const NAVIGATION: NavEntry[] = [];
