import { access } from "@/i18n/en/access";
import { calendar } from "@/i18n/en/calendar";
import { common } from "@/i18n/en/common";
import { cost } from "@/i18n/en/cost";
import { confirm } from "@/i18n/en/confirm";
import { events } from "@/i18n/en/events";
import { fleet } from "@/i18n/en/fleet";
import { home } from "@/i18n/en/home";
import { isolation } from "@/i18n/en/isolation";
import { lease } from "@/i18n/en/lease";
import { nodes } from "@/i18n/en/nodes";
import { offers } from "@/i18n/en/offers";
import { problem } from "@/i18n/en/problem";
import { reading } from "@/i18n/en/reading";
import { reservations } from "@/i18n/en/reservations";
import { reserve } from "@/i18n/en/reserve";
import { session } from "@/i18n/en/session";
import { shell } from "@/i18n/en/shell";
import { state } from "@/i18n/en/state";

/** Every message on screen; one file a feature, one line here. */
export const en = {
  access,
  calendar,
  common,
  cost,
  confirm,
  events,
  fleet,
  home,
  isolation,
  lease,
  nodes,
  offers,
  problem,
  reading,
  reservations,
  reserve,
  session,
  shell,
  state,
} as const;
