import { Link } from "@tanstack/react-router";
import { memo } from "react";
import { useT } from "@/lib/i18n";
import { formatMemory } from "@/lib/units";
import classes from "./calendar.module.css";
import { boxesOf, spanOf, stretch } from "./layout";
import { MarkBox, type Mark } from "./mark";
import { PieceBox } from "./piece-box";
import type { Range } from "./range";
import type { Item } from "./types";
import { tailOf } from "./words";

type DeviceRowProps = {
  item: Item;
  range: Range;
  zone: string;
  width: number;
  top: number;
  height: number;
  id: string;
  index: number;
  isActive: boolean;
  marks: Mark[];
};

const percent = (part: number) => `${part * 100}%`;
const place = ({ left, width }: { left: number; width: number }) => ({ left: percent(left), width: percent(width) });

function Label({ item }: { item: Item }) {
  const t = useT();
  const notes = [
    item.simulated && t("common.simulated"),
    !item.online && t("state.offline"),
    item.cordoned && t("state.cordoned"),
  ].filter((note) => note !== false);
  return (
    <div className={classes.device} title={`${item.model} · ${item.device}`}>
      <div className={classes.deviceName}>
        <Link to="/devices/$id" params={{ id: item.device }}>
          {item.model}
        </Link>
      </div>
      <div className={classes.deviceNote}>
        <span className={classes.mono}>{tailOf(item.device)}</span>
        {[formatMemory(item.capacity_mib), ...notes].map((note) => ` · ${note}`)}
      </div>
    </div>
  );
}

export const DeviceRowView = memo(function DeviceRowView(props: DeviceRowProps) {
  const { item, range, zone, width, marks } = props;
  const t = useT();
  return (
    <div
      id={props.id}
      role="row"
      aria-level={3}
      aria-rowindex={props.index + 2}
      aria-selected={props.isActive}
      className={`${classes.row} ${props.isActive ? classes.isActive : ""}`}
      style={{ top: props.top, height: props.height }}
    >
      <div role="rowheader" className={classes.label}>
        <Label item={item} />
      </div>
      <div role="gridcell" className={classes.track} style={{ width }} data-device={item.device}>
        {item.free.map((free) => (
          <div key={free.starts_at} className={classes.free} style={place(stretch(spanOf(free), range))} />
        ))}
        {item.maintenance.map((one) => (
          <div key={one.starts_at} className={classes.maintenance} style={place(stretch(spanOf(one), range))}>
            <span dir="auto">{one.reason ? t("calendar.maintenance_why", { reason: one.reason }) : t("state.maintenance")}</span>
          </div>
        ))}
        {boxesOf(item, range, width).map((box) => (
          <PieceBox key={`${box.piece.lane} ${box.piece.starts_at}`} box={box} zone={zone} />
        ))}
        {marks.map((mark) => (
          <MarkBox key={`${mark.kind} ${mark.span.from} ${mark.span.to}`} mark={mark} range={range} zone={zone} />
        ))}
      </div>
    </div>
  );
});
