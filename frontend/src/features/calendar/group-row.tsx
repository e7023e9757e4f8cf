import { memo } from "react";
import { Icon } from "@/components/icon";
import { useT } from "@/lib/i18n";
import classes from "./calendar.module.css";
import type { NodeRow, RackRow } from "./rows";

type GroupRowProps = {
  row: RackRow | NodeRow;
  width: number;
  top: number;
  height: number;
  id: string;
  index: number;
  isActive: boolean;
  onToggle: (id: string) => void;
};

/** A rack or a node; closing it hides its devices. */
export const GroupRowView = memo(function GroupRowView(props: GroupRowProps) {
  const { row, width, id, index, isActive, onToggle } = props;
  const t = useT();
  const name = row.name || t("calendar.no_rack");
  return (
    <div
      id={id}
      role="row"
      aria-level={row.kind === "rack" ? 1 : 2}
      aria-expanded={row.isOpen}
      aria-rowindex={index + 2}
      aria-selected={isActive}
      className={`${classes.row} ${classes.group} ${isActive ? classes.isActive : ""}`}
      style={{ top: props.top, height: props.height }}
    >
      <div role="rowheader" className={classes.label}>
        <button
          type="button"
          tabIndex={-1}
          className={`${classes.toggle} ${row.kind === "node" ? classes.nodeToggle : ""}`}
          onClick={() => onToggle(row.id)}
        >
          <i className={`${classes.chevron} ${row.isOpen ? classes.isOpen : ""}`}>
            <Icon name="right" size={14} />
          </i>
          <span title={name}>{name}</span>
        </button>
      </div>
      <div role="gridcell" style={{ width }}>
        <span className={classes.groupNote}>
          {t("calendar.group_devices", { n: row.devices })} · {t("calendar.group_fitting", { n: row.fitting })}
        </span>
      </div>
    </div>
  );
});
