import { expect, test } from "vitest";
import { constraintsOf, mayComeFree, refusalIn, takeWay, waysOf } from "@/features/reserve/refusal";
import { Problem } from "@/lib/problem";
import { makeRefusal } from "@/test/make-shelf";

const asked = { memory_mib: 8192, share_permille: 500 };
const small = { memory_mib: 4096, share_permille: 250 };
const later = {
  kind: "later" as const,
  starts_at: "2026-12-01T10:00:00Z",
  ends_at: "2026-12-01T11:00:00Z",
  device: "dev_1",
  slice: asked,
};
const resize = (size: typeof small) => ({ ...size, for_s: 3600 });

test("what rules out most comes first", () => {
  expect(constraintsOf(makeRefusal({ constraints: { memory: 1, offline: 3, compute: 1 } })).map((one) => one.name)).toEqual([
    "offline",
    "compute",
    "memory",
  ]);
});

test("each way is there once: later first, then smaller, then another device", () => {
  const smaller = { ...later, kind: "smaller" as const, slice: small };
  const refusal = makeRefusal({ alternatives: [smaller, later], nearest: [small], next_free_at: later.starts_at });
  expect(waysOf(refusal, asked, true).map((way) => way.kind)).toEqual(["later", "smaller", "any_device"]);
  expect(waysOf(makeRefusal({ next_free_at: later.starts_at }), asked, false)).toHaveLength(1);
  expect(waysOf(makeRefusal(), asked, false)).toEqual([]);
});

test("a way keeps the length that was wished, and moves an end that was fixed", () => {
  const [way] = waysOf(makeRefusal({ alternatives: [later] }), asked, false);
  if (!way) throw new Error("no way");
  expect(takeWay({ for_s: 3600 }, way, resize)).toEqual({ for_s: 3600, starts_at: later.starts_at });
  expect(takeWay({ ends_at: "2026-11-30T00:00:00Z" }, way, resize)).toMatchObject({ ends_at: later.ends_at });
  expect(takeWay({ for_s: 3600 }, { kind: "smaller", size: small }, resize)).toMatchObject(small);
  expect(takeWay({ device: "dev_1", for_s: 60 }, { kind: "any_device" }, resize)).toMatchObject({ device: undefined });
});

test("only a purchase that met no room carries a refusal", () => {
  const facts = { status: 409, title: "", detail: "", suggestion: "", request_id: "" };
  expect(refusalIn(new Problem({ ...facts, code: "no_capacity", data: { constraints: { memory: 2 } } }))?.constraints).toEqual({ memory: 2 });
  expect(refusalIn(new Problem({ ...facts, code: "account_suspended" }))).toBeNull();
});

test("waiting is offered only where it may help", () => {
  expect(mayComeFree(makeRefusal({ constraints: { memory: 1, larger_than_device: 3 } }))).toBe(true);
  expect(mayComeFree(makeRefusal({ constraints: { larger_than_device: 3 } }))).toBe(false);
  expect(mayComeFree(makeRefusal({ code: "quota_exceeded", constraints: { quota_memory_mib: 1 } }))).toBe(false);
});
