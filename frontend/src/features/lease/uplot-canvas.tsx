import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { SPAN_S, type Columns } from "@/features/lease/live-series";

export type PlotProps = {
  columns: Columns;
  /** Drawn always; null where there is none. */
  limit: number | null;
  /** The top of the picture. */
  top: number;
  /** The right edge, in seconds since the epoch. */
  now: number;
  /** Labels of the two axes. */
  unit: string;
  minutes: string;
  format: (value: number) => string;
  /** A CSS variable's name. */
  color: string;
};

const HEIGHT = 144;
const FONT = "11px system-ui, sans-serif";

type Latest = Pick<PlotProps, "limit" | "top" | "now" | "format">;

function colours(host: HTMLElement, color: string) {
  const style = getComputedStyle(host);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return { line: of(color), quiet: of("--mantine-color-dimmed"), grid: of("--line"), limit: of("--limit-line") };
}

/** Nought, the limit and half of it; without a limit the top. */
const ticksOf = ({ limit, top }: Latest) => [0, (limit ?? top) / 2, limit ?? top];

function drawLimit(plot: uPlot, limit: number | null, colour: string): void {
  if (limit === null) return;
  const y = plot.valToPos(limit, "y", true);
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

function optionsFor(host: HTMLElement, props: PlotProps, latest: () => Latest): uPlot.Options {
  const colour = colours(host, props.color);
  const axis = { stroke: colour.quiet, font: FONT, grid: { stroke: colour.grid, width: 1 }, ticks: { show: false } };
  const labelled = { labelFont: FONT, labelSize: 16, labelGap: 0 };
  return {
    width: host.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: () => [latest().now - SPAN_S, latest().now] },
      y: { range: () => [0, latest().top] },
    },
    axes: [
      {
        ...axis,
        ...labelled,
        label: props.minutes,
        size: 20,
        gap: 2,
        splits: () => [5, 4, 3, 2, 1, 0].map((minutes) => latest().now - minutes * 60),
        values: (_plot, splits) => splits.map((_split, index) => String(splits.length - 1 - index)),
      },
      {
        ...axis,
        ...labelled,
        label: props.unit,
        size: 44,
        gap: 4,
        splits: () => ticksOf(latest()),
        values: (_plot, splits) => splits.map((value) => latest().format(value)),
      },
    ],
    series: [
      {},
      { stroke: colour.line, width: 2, points: { show: false } },
      { stroke: colour.quiet, width: 1.5, dash: [3, 3], points: { show: false } },
    ],
    hooks: { draw: [(plot) => drawLimit(plot, latest().limit, colour.limit)] },
  };
}

/** The drawing itself. Its words stand beside it: to a reader it is a picture with a label. */
export function UplotCanvas(props: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  const scheme = useComputedColorScheme("light");
  const { color, unit, minutes } = props;

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const made = new uPlot(optionsFor(element, latest.current, () => latest.current), latest.current.columns, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
    // Colours are read from the page: another scheme, another drawing.
  }, [scheme, color, unit, minutes]);

  useEffect(() => {
    latest.current = props;
    plot.current?.setData(props.columns);
  });

  return <div ref={host} style={{ height: HEIGHT, width: "100%", overflow: "hidden" }} />;
}
