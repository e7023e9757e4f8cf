import { PART_COLOURS, type Part } from "@/features/cost/series";

/** Fills that differ by pattern too, not only by colour. One definition a page: the ids are shared. */
export function PartPatterns() {
  return (
    <svg width={0} height={0} aria-hidden="true" style={{ position: "absolute" }}>
      <defs>
        <pattern id="part-idle" width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width={6} height={6} fill={PART_COLOURS.idle} />
          <rect width={2} height={6} fill="var(--panel)" fillOpacity={0.55} />
        </pattern>
        <pattern id="part-unread" width={5} height={5} patternUnits="userSpaceOnUse">
          <rect width={5} height={5} fill={PART_COLOURS.unread} />
          <circle cx={2.5} cy={2.5} r={1} fill="var(--panel)" />
        </pattern>
        <pattern id="part-reserved" width={6} height={6} patternUnits="userSpaceOnUse">
          <rect width={6} height={6} fill={PART_COLOURS.reserved} />
          <rect width={6} height={2} fill="var(--panel)" fillOpacity={0.55} />
        </pattern>
      </defs>
    </svg>
  );
}

export const fillOf = (part: Part): string => (part === "used" ? PART_COLOURS.used : `url(#part-${part})`);

/** The part's sign in a legend. */
export function PartMark({ part }: { part: Part }) {
  return (
    <svg width={12} height={12} aria-hidden="true" style={{ flex: "none" }}>
      <rect width={12} height={12} rx={2} fill={fillOf(part)} />
    </svg>
  );
}
