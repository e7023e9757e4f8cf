import type { reading as en } from "@/i18n/en/reading";
import type { Shape } from "@/i18n/shape";

export const reading = {
  measured: "实测",
  estimated: "估算",
  stale: "旧值",
  unavailable: "不可用",
  age: "{quality}，{age}",
  unavailable_why: "n/a：设备或其驱动不提供此值。",
  stale_why: "旧值：没有更新的报告。",
  estimated_why: "估算值，并非实测。",
  limit: "上限",
  used_of: "{used} / {limit}",
  chart_empty: "还没有数值",
} as const satisfies Shape<typeof en>;
