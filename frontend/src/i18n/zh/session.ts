import type { session as en } from "@/i18n/en/session";
import type { Shape } from "@/i18n/shape";

export const session = {
  title: "登录",
  with_password: "邮箱和密码",
  with_token: "令牌",
  way: "登录方式",
  email: "电子邮箱",
  password: "密码",
  token: "个人令牌",
  token_hint: "以 vxp_pat_ 开头。令牌失效时会话随之结束。",
  submit: "登录",
  first_time: "还没有密码？请用令牌登录，然后在“访问”页设置密码。",
  expired: "会话已结束。请重新登录，继续刚才的操作。",
  revoked: "会话已在别处结束：退出登录、令牌被吊销或成员资格被移除。请重新登录。",
  signed_out: "您已退出登录。",
  required: "请填写此项。",
  locked: "尝试次数过多。{time}后可以重试。",
} as const satisfies Shape<typeof en>;
