/** The same reservation from a terminal. */
import { curlLine, shellWord } from "@/lib/curl";
import type { Chosen } from "./drawing";
import { withOffset } from "./range";
import type { Size } from "./types";

const memory = (mib: number): string => (mib % 1024 === 0 ? `${mib / 1024}GiB` : `${mib}MiB`);

export type Lines = { vxpu: string; curl: string };

/** A start that has come is left out: it is "now". */
export function linesOf(chosen: Chosen, size: Size, project: string, zone: string, now: number): Lines {
  const start = chosen.from <= now ? null : withOffset(chosen.from, zone);
  const end = withOffset(chosen.to, zone);
  const words = ["vxpu", "reserve", "create", "-m", memory(size.memory_mib), "-c", `${size.share_permille / 10}%`];
  if (chosen.device) words.push("--device", chosen.device);
  words.push("-p", project);
  if (start) words.push("--start", start);
  words.push("--end", end);
  const body = {
    project,
    slice: size,
    ...(chosen.device ? { device: chosen.device } : {}),
    ...(start ? { starts_at: start } : {}),
    ends_at: end,
  };
  return {
    vxpu: words.map(shellWord).join(" "),
    curl: curlLine({ method: "POST", path: "/api/v1/reservations", body, keyed: true }),
  };
}
