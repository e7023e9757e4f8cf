import { useState } from "react";
import { newKey } from "@/lib/idempotency";

type OneKey = {
  /** The same until the intent is another, or done. */
  (intent: object): string;
  /** The next time is a new intent, even if it says the same. */
  done: () => void;
};

function makeOneKey(): OneKey {
  let kept = { intent: "", key: "" };
  const keyFor = (intent: object) => {
    const text = JSON.stringify(intent);
    if (kept.intent !== text) kept = { intent: text, key: newKey() };
    return kept.key;
  };
  const done = () => {
    kept = { intent: "", key: "" };
  };
  return Object.assign(keyFor, { done });
}

/** One Idempotency-Key for one intent, so that a repeat after a lost answer does nothing twice. */
export function useOneKey(): OneKey {
  const [oneKey] = useState(makeOneKey);
  return oneKey;
}
