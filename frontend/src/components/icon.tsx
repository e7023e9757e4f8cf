/** Line icons on a 24 px grid, in the colour of the text around them. Always beside a word, so hidden from readers. */
const PATHS = {
  home: "M4 11 12 4l8 7M6 10v10h12V10M10 20v-6h4v6",
  offers: "M4 5h16v6H4zM4 14h7v5H4zM14 14h6v5h-6z",
  reserve: "M12 5v14M5 12h14",
  calendar: "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4",
  reservations: "M9 6h11M9 12h11M9 18h11M4 6h1M4 12h1M4 18h1",
  fleet: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z",
  nodes: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  cost: "M4 20V10M10 20V4M16 20v-7M21 20H3",
  access: "M15 9a4 4 0 1 1-2.5-3.7M11.5 12 4 19.5V21h3l1-1v-2h2l2.5-2.5M16 8h.01",
  events: "M12 4v8l5 3M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0Z",
  check: "M5 12.5 10 17l9-10",
  checkCircle: "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0ZM8 12.5l3 3 5-6",
  cross: "M6 6l12 12M18 6 6 18",
  crossCircle: "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0ZM9 9l6 6M15 9l-6 6",
  clock: "M12 7v5l3 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0Z",
  busy: "M20 12a8 8 0 1 1-2.3-5.6M20 3v4h-4",
  dash: "M5 12h14",
  minus: "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0ZM8 12h8",
  warning: "M12 4 2.5 20h19ZM12 10v4M12 17h.01",
  info: "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0ZM12 11v5M12 8h.01",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  down: "M6 9l6 6 6-6",
  up: "M6 15l6-6 6 6",
  right: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  arrowRight: "M5 12h14M13 6l6 6-6 6",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  user: "M16 8a4 4 0 1 1-8 0 4 4 0 0 1 8 0ZM4 21c1-4 4-6 8-6s7 2 8 6",
  logOut: "M10 4H5v16h5M15 8l4 4-4 4M19 12H9",
  search: "M16 11a5 5 0 1 1-10 0 5 5 0 0 1 10 0ZM15 15l5 5",
  columns: "M4 5h16v14H4zM10 5v14M15 5v14",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  upload: "M12 16V5M7 9l5-5 5 5M5 20h14",
  external: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  terminal: "M4 5h16v14H4zM7 9l3 3-3 3M12 15h4",
  shield: "M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6ZM9 12l2 2 4-4",
  shieldHalf: "M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6ZM12 3v18",
  flask: "M10 3v6L5 19h14l-5-10V3M9 3h6M8 14h8",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  plus: "M12 5v14M5 12h14",
  edit: "M4 20h4L20 8l-4-4L4 16ZM14 6l4 4",
  refresh: "M20 12a8 8 0 1 1-2.3-5.6M20 3v4h-4",
  play: "M7 4l12 8-12 8Z",
  stop: "M6 6h12v12H6z",
  pause: "M8 5v14M16 5v14",
  lock: "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
  resize: "M4 20 20 4M14 4h6v6M10 20H4v-6",
  memory: "M4 7h16v9H4zM8 16v3M12 16v3M16 16v3M8 10v3M12 10v3M16 10v3",
  compute: "M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4",
  power: "M13 3 5 14h6l-1 7 8-11h-6Z",
  money: "M12 3v18M16 7c-1-1-2.300-1.500-4-1.500-2.500 0-4 1.300-4 3.200 0 4.300 8 2.300 8 6.600 0 2-1.600 3.200-4 3.200-1.800 0-3.300-.600-4.300-1.800",
  filter: "M4 5h16l-6 8v6l-4-2v-4Z",
  globe: "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0ZM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  sun: "M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0ZM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500 19 19M5 19l1.500-1.500M17.500 6.500 19 5",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l2 2H4ZM10 20a2 2 0 0 0 4 0",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      focusable="false"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      style={{ flex: "none" }}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
