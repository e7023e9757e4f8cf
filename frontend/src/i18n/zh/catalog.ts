import { access } from "@/i18n/zh/access";
import { calendar } from "@/i18n/zh/calendar";
import { common } from "@/i18n/zh/common";
import { cost } from "@/i18n/zh/cost";
import { confirm } from "@/i18n/zh/confirm";
import { events } from "@/i18n/zh/events";
import { fleet } from "@/i18n/zh/fleet";
import { home } from "@/i18n/zh/home";
import { isolation } from "@/i18n/zh/isolation";
import { lease } from "@/i18n/zh/lease";
import { nodes } from "@/i18n/zh/nodes";
import { offers } from "@/i18n/zh/offers";
import { problem } from "@/i18n/zh/problem";
import { reading } from "@/i18n/zh/reading";
import { reservations } from "@/i18n/zh/reservations";
import { reserve } from "@/i18n/zh/reserve";
import { session } from "@/i18n/zh/session";
import { shell } from "@/i18n/zh/shell";
import { state } from "@/i18n/zh/state";

import type { en } from "@/i18n/en/catalog";
import type { Shape } from "@/i18n/shape";

/** Every message on screen; one file a feature, one line here. */
export const zh = {
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
} as const satisfies Shape<typeof en>;
