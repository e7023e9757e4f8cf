import type { problem as en } from "@/i18n/en/problem";
import type { Shape } from "@/i18n/shape";

export const problem = {
  request: "请求",
  no_suggestion: "请重试。如果问题依旧，请把请求编号告诉运营者。",
  unreachable: "服务器没有响应",
  unreachable_detail: "网络中断，或者服务器已停止。",
  unreachable_suggestion: "请检查网络后重试。除非在此看到变化，否则没有任何更改。",
  unexpected_answer: "无法理解收到的响应",
  unexpected_answer_detail: "您与服务器之间的某处返回了状态 {status}。",
  unexpected_answer_suggestion: "请稍后重试。",
  client_error: "此页面出错",
  client_error_suggestion: "请刷新页面。如果问题依旧，请告诉运营者您做了什么。",
  retry_after: "{time}后可以重试。",
  page_failed: "无法显示此页面",
  back_home: "回到首页",
  reload: "刷新",
  not_found: "没有这个页面",
  not_found_detail: "{path} 处没有内容。地址可能有误，或者所指的对象已不存在。",
} as const satisfies Shape<typeof en>;
