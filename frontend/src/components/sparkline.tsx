type SparklineProps = {
  /** Oldest first; null is a gap and is drawn as one. */
  values: (number | null)[];
  /** The top of the drawing; the largest value when absent. A limit inside the range is drawn as a line. */
  max?: number;
  limit?: number;
  /** Hold each value until the next, as a price does. */
  step?: boolean;
  width?: number;
  height?: number;
  /** What a reader that does not see is told. */
  label: string;
};

/** Pieces of the line between gaps. */
function pathOf(values: (number | null)[], x: (index: number) => number, y: (value: number) => number, step: boolean) {
  let pen = false;
  const parts: string[] = [];
  values.forEach((value, index) => {
    if (value === null) {
      pen = false;
      return;
    }
    const point = `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    parts.push(pen ? (step ? `H${x(index).toFixed(1)} V${y(value).toFixed(1)}` : `L${point}`) : `M${point}`);
    // A single value between gaps would be invisible without a little length.
    if (!pen && (values[index + 1] ?? null) === null) parts.push("h1");
    pen = true;
  });
  return parts.join(" ");
}

export function Sparkline(props: SparklineProps) {
  const { values, limit, step = false, width = 120, height = 28, label } = props;
  const known = values.filter((value) => value !== null);
  const max = props.max ?? Math.max(1e-9, ...known, limit ?? 0);
  const x = (index: number) => 1 + (index / Math.max(1, values.length - 1)) * (width - 2);
  const y = (value: number) => height - 1 - (Math.min(value, max) / max) * (height - 2);
  return (
    <svg role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      {limit !== undefined && (
        <line x1={0} x2={width} y1={y(limit)} y2={y(limit)} stroke="var(--limit-line)" strokeDasharray="3 2" />
      )}
      <path d={pathOf(values, x, y, step)} fill="none" stroke="var(--series-1)" strokeWidth={1.5} />
    </svg>
  );
}
