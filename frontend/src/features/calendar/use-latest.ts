import { useCallback, useEffect, useRef } from "react";

/** A function that stays the same one and calls what was given last: for parts too large to draw again at each move. */
export function useLatest<Value>(call: (value: Value) => void): (value: Value) => void {
  const latest = useRef(call);
  useEffect(() => {
    latest.current = call;
  });
  return useCallback((value: Value) => latest.current(value), []);
}
