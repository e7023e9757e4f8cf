import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { execLine, firstRunLine, limitsLine, loginLine, logsLine, runOnNodeLine } from "@/features/lease/first-run";

const LEASE = "lse_01k2v7x9qefh8r8x5m3n1p0s4t";

/** What a POSIX shell makes of a line: its words, one a line of NUL-ended text. */
function words(line: string): string[] {
  const script = `vxpu() { printf '%s\\0' vxpu "$@"; }\n${line}\n`;
  return execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

test("the program arrives in the slice whole, as one argument", () => {
  const [vxpu, exec, lease, dashes, python, flag, program, ...more] = words(firstRunLine(LEASE));
  expect([vxpu, exec, lease, dashes, python, flag]).toEqual(["vxpu", "exec", LEASE, "--", "python", "-c"]);
  expect(more).toEqual([]);
  expect(program).toContain("__kernel void spin");
  // Quotes of the other kind would end the shell's.
  expect(program).not.toContain("'");
});

test("every line is one command", () => {
  for (const line of [execLine(LEASE), limitsLine(LEASE), logsLine(LEASE), runOnNodeLine(LEASE)]) {
    expect(words(line)).toContain(line.startsWith("vxpu run") ? "--lease" : LEASE);
  }
});

test("an address goes into the log-in line as one word", () => {
  expect(words(loginLine("https://market.example:8443"))).toEqual(["vxpu", "login", "--server", "https://market.example:8443"]);
});
