import { useRef } from "react";
import { newKey } from "@/lib/idempotency";

type OneKey = {
  /** The same until the intent is another, or done. */
  (intent: object): string;
  /** The next time is a new intent, even if it says the same. */
  done: () => void;
};

/** One Idempotency-Key for one intent, so that a repeat after a lost answer does nothing twice. */
export function useOneKey(): OneKey {
  const kept = useRef({ intent: "", key: "" });
  const keyFor = (intent: object) => {
    const text = JSON.stringify(intent);
    if (kept.current.intent !== text) kept.current = { intent: text, key: newKey() };
    return kept.current.key;
  };
  const done = () => {
    kept.current = { intent: "", key: "" };
  };
  return Object.assign(keyFor, { done });
}
