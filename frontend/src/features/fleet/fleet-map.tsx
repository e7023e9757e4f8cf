import { ActionIcon, useComputedColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { toScreen, zoomAt } from "@/features/fleet/camera";
import { PALETTES, rampOf } from "@/features/fleet/colours";
import { HoverCard } from "@/features/fleet/hover-card";
import { layOut } from "@/features/fleet/layout";
import { MapPainter } from "@/features/fleet/map-painter";
import { deviceAt, isStale, matches, metricOf, rangeOf, type Fleet, type Metric } from "@/features/fleet/model";
import { written, type Scene } from "@/features/fleet/paint";
import { sayDevice, saySummary } from "@/features/fleet/say";
import { useFrameSize } from "@/features/fleet/use-frame-size";
import { closeUp, nextLevel, useMapKeys } from "@/features/fleet/use-map-keys";
import { usePointer, type Hit } from "@/features/fleet/use-pointer";
import { Icon } from "@/components/icon";
import { useNow } from "@/hooks/use-now";
import { useT, type Translate } from "@/lib/i18n";
import classes from "@/features/fleet/fleet.module.css";

type FleetMapProps = {
  fleet: Fleet;
  metric: Metric;
  filter: string;
  chosen: ReadonlySet<number>;
  /** Left out for those who may not cordon or drain. */
  onChoose?: ((device: number) => void) | undefined;
};

const STEP = 1.5;
const NOWHERE: Hit = { device: null, at: { x: 0, y: 0 } };

const metricText = (fleet: Fleet, device: number, metric: Metric, t: Translate) =>
  `${t(`fleet.metric.${metric}`)} ${written(metricOf(fleet, device, metric), metric)}`;

/** Racks, nodes and devices, drawn on a canvas. Its twin for readers is the table. */
export function FleetMap({ fleet, metric, filter, chosen, onChoose }: FleetMapProps) {
  const t = useT();
  const navigate = useNavigate();
  const scheme = useComputedColorScheme("light");
  const now = useNow(5_000);
  const help = useId();
  const frame = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const [painter] = useState(() => new MapPainter());
  const [hover, setHover] = useState<Hit>(NOWHERE);
  const [cursor, setCursor] = useState<number | null>(null);
  const size = useFrameSize(frame);
  const shape = fleet.devices.node.join() + fleet.nodes.map((node) => node.rack).join();
  const aspect = size.h > 0 ? Math.round((size.w / size.h) * 4) / 4 : 2;
  // Only another shape of the fleet or of the window moves anything.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const layout = useMemo(() => layOut(fleet, aspect), [shape, aspect]);
  const scene = useMemo<Scene>(
    () => ({
      fleet,
      layout,
      metric,
      range: rangeOf(fleet, metric),
      ramp: rampOf(metric, scheme),
      palette: PALETTES[scheme],
      scheme,
      stale: fleet.devices.id.map((_, index) => isStale(fleet, index, now)),
      faded: filter ? fleet.devices.id.map((_, index) => !matches(deviceAt(fleet, index, now), filter)) : null,
      noRack: t("fleet.no_rack"),
    }),
    [fleet, layout, metric, scheme, now, filter, t],
  );

  useEffect(() => {
    if (base.current && over.current) painter.attach(base.current, over.current);
    return () => painter.detach();
  }, [painter]);
  useEffect(() => painter.resize(size, window.devicePixelRatio || 1), [painter, size]);
  useEffect(() => painter.show(scene), [painter, scene]);
  useEffect(() => painter.mark({ cursor, hover: hover.device, chosen }), [painter, cursor, hover.device, chosen]);

  const open = (device: number) => void navigate({ to: "/devices/$id", params: { id: fleet.devices.id[device] ?? "" } });
  const keys = useMapKeys({ painter, layout, cursor, setCursor, onOpen: open, onChoose: (device) => onChoose?.(device) });
  const pointer = usePointer(frame, painter, layout, {
    onHover: (hit) => setHover((before) => (before.device === null && hit.device === null ? before : hit)),
    onPick: (hit, adds) => {
      if (hit.device !== null && adds && onChoose) onChoose(hit.device);
      else setCursor(hit.device);
    },
    onClose: ({ device }) => {
      if (device !== null) closeUp(painter, layout, device, nextLevel(painter.camera().scale));
    },
  });
  const zoom = (factor: number) =>
    painter.move((camera) => zoomAt(camera, factor, { x: size.w / 2, y: size.h / 2 }, painter.world(), size));

  const shown = hover.device ?? cursor;
  const cell = shown === null ? undefined : layout.cells[shown];
  const device = shown !== null && shown < fleet.devices.id.length ? deviceAt(fleet, shown, now) : null;
  const spot = hover.device === null && cell && size.w > 0 ? toScreen(painter.camera(), cell) : null;
  const at = spot ? { x: spot.x + spot.w, y: spot.y + spot.h } : hover.at;
  return (
    <div className={classes.mapFrame}>
      {/* The map takes keys and pointers as a whole; readers have the table. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        ref={frame}
        className={classes.map}
        role="group"
        tabIndex={0}
        aria-label={t("fleet.map_label")}
        aria-describedby={help}
        onKeyDown={keys}
        {...pointer}
      >
        {/* A picture: what can be done with it is done on the group around it. */}
        {/* eslint-disable-next-line jsx-a11y/no-interactive-element-to-noninteractive-role */}
        <canvas ref={base} role="img" aria-label={saySummary(fleet, metric, now, t)} />
        <canvas ref={over} aria-hidden="true" />
        {device && <HoverCard device={device} at={at} frame={size} />}
      </div>
      <div className={classes.zoom}>
        <ActionIcon variant="default" aria-label={t("fleet.zoom_in")} onClick={() => zoom(STEP)}>
          <Icon name="plus" />
        </ActionIcon>
        <ActionIcon variant="default" aria-label={t("fleet.zoom_out")} onClick={() => zoom(1 / STEP)}>
          <Icon name="dash" />
        </ActionIcon>
        <ActionIcon variant="default" aria-label={t("fleet.zoom_all")} onClick={() => painter.fitAll()}>
          <Icon name="resize" />
        </ActionIcon>
      </div>
      <p id={help} className={classes.help}>
        {t(onChoose ? "fleet.help_operator" : "fleet.help")}
      </p>
      <p className={classes.said} role="status">
        {cursor !== null && device ? sayDevice(device, metricText(fleet, cursor, metric, t), chosen.has(cursor), t) : ""}
      </p>
    </div>
  );
}
