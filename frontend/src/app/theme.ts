import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";

/** The one accent. Shade 7 on white and shade 8 under white text are at least 4.5:1. */
const accent: MantineColorsTuple = [
  "#eef0fb",
  "#dadef5",
  "#b5bceb",
  "#939ee4",
  "#7a87dc",
  "#6270d2",
  "#5562c9",
  "#4450b8",
  "#3a459f",
  "#2c3580",
];

/** Mantine's own dark greys are neutral; these are of one family with the page's ground. */
const dark: MantineColorsTuple = [
  "#dfe3e8",
  "#b5bdc8",
  "#949ca7",
  "#6b7480",
  "#3d4550",
  "#2f363f",
  "#252a32",
  "#1c2026",
  "#15181d",
  "#101317",
];

const SYSTEM = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans SC", "PingFang SC", "Microsoft YaHei", sans-serif';
const MONO = 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace';

/** Four text sizes, a 4 px grid, radius 6. */
export const theme = createTheme({
  colors: { accent, dark },
  primaryColor: "accent",
  primaryShade: { light: 7, dark: 7 },
  fontFamily: SYSTEM,
  fontFamilyMonospace: MONO,
  fontSizes: { xs: "12px", sm: "14px", md: "14px", lg: "16px", xl: "20px" },
  lineHeights: { xs: "1.35", sm: "1.45", md: "1.45", lg: "1.4", xl: "1.3" },
  spacing: { xs: "4px", sm: "8px", md: "12px", lg: "16px", xl: "24px" },
  radius: { xs: "2px", sm: "4px", md: "6px", lg: "6px", xl: "6px" },
  defaultRadius: "md",
  headings: {
    fontFamily: SYSTEM,
    fontWeight: "600",
    sizes: {
      h1: { fontSize: "20px", lineHeight: "1.3" },
      h2: { fontSize: "16px", lineHeight: "1.4" },
      h3: { fontSize: "14px", lineHeight: "1.45" },
    },
  },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Text: { defaultProps: { size: "sm" } },
    Button: { defaultProps: { size: "sm" } },
    Modal: {
      defaultProps: { transitionProps: { duration: 100 }, centered: true },
      styles: { title: { fontSize: 16, fontWeight: 600, overflowWrap: "anywhere" } },
    },
    Menu: { defaultProps: { transitionProps: { duration: 80 }, shadow: "md" } },
    Popover: { defaultProps: { transitionProps: { duration: 80 } } },
    Tooltip: {
      defaultProps: { transitionProps: { duration: 80 }, openDelay: 250, multiline: true, maw: 320, events: { hover: true, focus: true, touch: true } },
    },
  },
});

/** Mantine's own greys and reds for small text stay below 4.5:1; these do not. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#5b626b",
    "--mantine-color-placeholder": "#6b727b",
    "--mantine-color-error": "#b42318",
    "--mantine-color-red-outline": "#a5241b",
    "--mantine-color-green-outline": "#11693f",
    "--mantine-color-yellow-outline": "#7a4d00",
    "--mantine-color-anchor": "#4450b8",
    "--mantine-color-body": "#ffffff",
    "--mantine-color-text": "#1b1f24",
  },
  dark: {
    "--mantine-color-dimmed": "#a5adb8",
    "--mantine-color-placeholder": "#949ca7",
    "--mantine-color-error": "#ff9a93",
    "--mantine-color-red-outline": "#ffa29b",
    "--mantine-color-green-outline": "#7fd6a6",
    "--mantine-color-yellow-outline": "#f2c266",
    "--mantine-color-anchor": "#aab4f2",
    "--mantine-color-body": "#15181d",
    "--mantine-color-text": "#dfe3e8",
    // A chosen or soft button must stand out from a dark panel.
    "--mantine-color-accent-light": "#2b3260",
    "--mantine-color-accent-light-hover": "#343c73",
    "--mantine-color-accent-light-color": "#cdd3f7",
  },
});
