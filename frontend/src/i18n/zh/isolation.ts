import type { isolation as en } from "@/i18n/en/isolation";
import type { Shape } from "@/i18n/shape";

export const isolation = {
  exclusive: "整卡独占",
  exclusive_why: "您使用期间，设备上没有其他人。",
  mig: "硬件分区",
  mig_why: "由设备本身把您的显存和算力与他人隔开。",
  mps: "驱动共享",
  mps_why: "由驱动限制显存和算力；一个程序出错可能影响同设备的其他程序。",
  limiter_strict: "强制限额",
  limiter_strict_why: "您的程序在受限环境中运行，其显存和算力限额无法从内部关闭。",
  limiter_advisory: "建议限额",
  limiter_advisory_why: "限额对正常程序有效；恶意程序可能绕过。",
  simulated_why: "这是模拟设备：背后没有真实硬件。",
} as const satisfies Shape<typeof en>;
