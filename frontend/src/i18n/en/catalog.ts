import { calendar } from "@/i18n/en/calendar";
import { common } from "@/i18n/en/common";
import { confirm } from "@/i18n/en/confirm";
import { isolation } from "@/i18n/en/isolation";
import { problem } from "@/i18n/en/problem";
import { reading } from "@/i18n/en/reading";
import { session } from "@/i18n/en/session";
import { shell } from "@/i18n/en/shell";
import { state } from "@/i18n/en/state";

/** Every message on screen; one file a feature, one line here. */
export const en = {
  calendar,
  common,
  confirm,
  isolation,
  problem,
  reading,
  session,
  shell,
  state,
} as const;
