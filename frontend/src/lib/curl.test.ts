import { expect, test } from "vitest";
import { curlLine, shellWord } from "@/lib/curl";

test("a quote in a word survives the shell", () => {
  expect(shellWord("it's")).toBe(`'it'\\''s'`);
  expect(shellWord("rsv_01k2")).toBe("rsv_01k2");
});

test("a change carries its key and its body", () => {
  const line = curlLine({ method: "POST", path: "/api/v1/reservations/rsv_1/extend", body: { ends_at: null }, keyed: true });
  expect(line).toContain(`-X POST "$VXPU_SERVER/api/v1/reservations/rsv_1/extend"`);
  expect(line).toContain("Idempotency-Key");
  expect(line).toContain(`-d '{"ends_at":null}'`);
});
