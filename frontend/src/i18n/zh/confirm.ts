import type { confirm as en } from "@/i18n/en/confirm";
import type { Shape } from "@/i18n/shape";

export const confirm = {
  title: "{action}：{name}？",
  loses: "将失去",
  bills: "将计费",
  type_name: "输入 {name} 以确认",
  keep: "保留",
} as const satisfies Shape<typeof en>;
