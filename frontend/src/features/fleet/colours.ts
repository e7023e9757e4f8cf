/** Colours of the map. Each scale runs in lightness as well as in hue, so it can be read without seeing hues. */
import type { Metric, Range } from "@/features/fleet/model";

export type Scheme = "light" | "dark";

type Ramp = readonly string[];

const BLUE: Record<Scheme, Ramp> = {
  light: ["#e6f0f8", "#c6deef", "#99c5e2", "#63a7d1", "#3089bf", "#0b68a5", "#084a78"],
  dark: ["#22303c", "#24465b", "#28617f", "#2c7da8", "#409bd0", "#6fbbe8", "#aadefb"],
};
const ORANGE: Record<Scheme, Ramp> = {
  light: ["#fdf0e3", "#fbd9b5", "#f7b877", "#ee9340", "#dd6f14", "#b85308", "#853a04"],
  dark: ["#33281e", "#543819", "#7a4c14", "#a6630f", "#d27c15", "#f29b3d", "#ffc788"],
};
const PURPLE: Record<Scheme, Ramp> = {
  light: ["#f3edf6", "#dfd0e8", "#c5abd6", "#a983c2", "#8c5cad", "#6f3c93", "#522672"],
  dark: ["#2b2333", "#402f4f", "#593e71", "#755096", "#9467bb", "#b386d6", "#d6b4ef"],
};
const HEALTH: Record<Scheme, Ramp> = {
  light: ["#9c2f06", "#cc6116", "#e59a55", "#d9c79c", "#b5d8c6", "#d3ebdf", "#e4f3ec"],
  dark: ["#ff8a57", "#e07a3a", "#b06a33", "#7a6a4a", "#3f6a57", "#2d4f42", "#243d34"],
};
const RAMPS: Record<Metric, Record<Scheme, Ramp>> = {
  use: BLUE,
  allocated: BLUE,
  temperature: ORANGE,
  power: PURPLE,
  health: HEALTH,
};

export type Palette = {
  page: string;
  panel: string;
  line: string;
  strong: string;
  free: string;
  text: string;
  dimmed: string;
  accent: string;
  ill: string;
  poor: string;
  stale: string;
  hatch: string;
};

export const PALETTES: Record<Scheme, Palette> = {
  light: {
    page: "#f6f7f9",
    panel: "#ffffff",
    line: "#dfe3e8",
    strong: "#9aa3ae",
    free: "#f1f3f6",
    text: "#1b1f24",
    dimmed: "#5b626b",
    accent: "#4450b8",
    ill: "#b5390b",
    poor: "#c98600",
    stale: "#1b1f24",
    hatch: "rgba(90, 98, 108, 0.38)",
  },
  dark: {
    page: "#15181d",
    panel: "#1c2026",
    line: "#323841",
    strong: "#6b7480",
    free: "#262b32",
    text: "#dfe3e8",
    dimmed: "#a5adb8",
    accent: "#aab4f2",
    ill: "#ff8a57",
    poor: "#f2c266",
    stale: "#ffffff",
    hatch: "rgba(190, 198, 208, 0.34)",
  },
};

export const rampOf = (metric: Metric, scheme: Scheme): Ramp => RAMPS[metric][scheme];

/** The colour of a value; null (unknown) has none and is drawn as empty. */
export function colourOf(value: number | null, range: Range, ramp: Ramp): string | null {
  if (value === null) return null;
  const part = (value - range.low) / (range.high - range.low || 1);
  const step = Math.min(ramp.length - 1, Math.max(0, Math.floor(part * ramp.length)));
  return ramp[step] ?? null;
}
