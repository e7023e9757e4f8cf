/** How a class of devices is called on screen. */
import type { MessageKey, Translate } from "@/lib/i18n";

const NAMES: Record<string, MessageKey> = {
  cpu: "offers.kind.cpu",
  nvidia: "offers.kind.nvidia",
  opencl: "offers.kind.opencl",
};

/** A kind that we have no word for shows as the server calls it. */
export const kindName = (kind: string, t: Translate): string => {
  const key = NAMES[kind];
  return key ? t(key) : kind;
};
