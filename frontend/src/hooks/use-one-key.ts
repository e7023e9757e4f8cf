import { useRef } from "react";
import { newKey } from "@/lib/idempotency";

/** One Idempotency-Key for one intent: the same until the intent is another, so that a repeat does nothing twice. */
export function useOneKey(): (intent: object) => string {
  const kept = useRef({ intent: "", key: "" });
  return (intent) => {
    const text = JSON.stringify(intent);
    if (kept.current.intent !== text) kept.current = { intent: text, key: newKey() };
    return kept.current.key;
  };
}
