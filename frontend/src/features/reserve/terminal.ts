/** The same purchase from a terminal: exactly what is chosen on the page, safe to paste into a shell. */
import { endOf } from "@/features/reserve/period";
import type { Choice, Wish } from "@/features/reserve/wish";
import { curlLine, shellWord } from "@/lib/curl";

export type TerminalPurchase = { choice: Choice; wish: Wish; name: string };
export type TerminalLines = { vxpu: string; curl: string };

/** 12288 -> "12GiB"; 1536 -> "1536MiB": as the command line reads it, without loss. */
export const cliMemory = (mib: number): string => (mib % 1024 === 0 ? `${mib / 1024}GiB` : `${mib}MiB`);

/** 125 -> "12.5%". */
export const cliShare = (permille: number): string => `${permille / 10}%`;

const UNITS = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
] as const;

/** The largest unit that gives a whole number: 5400 -> "90m". */
export function cliLength(seconds: number): string {
  const found = UNITS.find(([size]) => seconds % size === 0);
  return found ? `${seconds / found[0]}${found[1]}` : `${seconds}s`;
}

function bodyOf({ wish, name }: TerminalPurchase): object {
  return Object.fromEntries(Object.entries({ ...wish, name }).filter(([, value]) => value !== null && value !== ""));
}

function sizeWords(choice: Choice): string[] {
  if (choice.offer) return ["--offer", choice.offer];
  const size = ["-m", cliMemory(choice.memory_mib ?? 0), "-c", cliShare(choice.share_permille ?? 0)];
  return choice.device_kind ? [...size, "--kind", choice.device_kind] : size;
}

function timeWords(choice: Choice): string[] {
  const start = choice.starts_at ? ["--start", choice.starts_at] : [];
  const end = endOf(choice);
  if (end.kind === "open") return start;
  return [...start, ...(end.kind === "until" ? ["--end", end.at] : ["--for", cliLength(end.seconds)])];
}

/** `vxpu reserve create ...`; by `vxpu api` what it has no option for. */
function vxpuLine(purchase: TerminalPurchase): string {
  const { choice, name } = purchase;
  if (choice.isolation_at_least || name) {
    return `vxpu api post /v1/reservations -d ${shellWord(JSON.stringify(bodyOf(purchase)))}`;
  }
  const device = choice.device ? ["--device", choice.device] : [];
  const words = ["vxpu", "reserve", "create", ...sizeWords(choice), ...device, "-p", choice.project, ...timeWords(choice)];
  return words.map(shellWord).join(" ");
}

export const terminalLines = (purchase: TerminalPurchase): TerminalLines => ({
  vxpu: vxpuLine(purchase),
  curl: curlLine({ method: "POST", path: "/api/v1/reservations", body: bodyOf(purchase), keyed: true }),
});
