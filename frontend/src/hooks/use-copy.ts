import { useEffect, useState } from "react";
import { copyText } from "@/lib/clipboard";

export type CopyState = "idle" | "copied" | "failed";

/** Copies on demand and tells for two seconds how it went. */
export function useCopy(): [CopyState, (text: string) => void] {
  const [state, setState] = useState<CopyState>("idle");
  useEffect(() => {
    if (state === "idle") return undefined;
    const timer = setTimeout(() => setState("idle"), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (text: string) => {
    void copyText(text).then((copied) => setState(copied ? "copied" : "failed"));
  };
  return [state, copy];
}
