import { Link } from "@tanstack/react-router";
import { useT, type MessageKey } from "@/lib/i18n";
import { formatInstant } from "@/lib/time-format";
import classes from "./calendar.module.css";
import { spanOf, type Box } from "./layout";
import { periodOf, sizeOf } from "./words";

type PieceBoxProps = { box: Box; zone: string };

const percent = (part: number) => `${part * 100}%`;

/**
 * Capacity that is taken: the viewer's own with its name and state, anybody else's grey and nameless. An operator is
 * told the reservation behind each.
 */
export function PieceBox({ box, zone }: PieceBoxProps) {
  const t = useT();
  const { piece } = box;
  const style = { left: percent(box.left), width: percent(box.width), top: box.top, height: box.height };
  const look = `${classes.piece} ${piece.mine ? classes.mine : classes.other} ${box.cutLeft ? classes.cutLeft : ""} ${box.cutRight ? classes.cutRight : ""}`;
  if (piece.reservation === null) return <div className={look} style={style} />;
  const span = spanOf(piece);
  const key = `state.${piece.state ?? ""}` as MessageKey;
  const word = t(key);
  const state = word === key ? (piece.state ?? "") : word;
  const name = piece.name?.trim() || sizeOf(piece);
  const period = Number.isFinite(span.to)
    ? periodOf(span, zone)
    : t("calendar.open_from", { at: formatInstant(span.from, zone, "short") });
  const label = t("calendar.mine_label", { name, state, period, size: sizeOf(piece) });
  if (box.isTight) return <div className={`${look} ${classes.named}`} style={style} title={label} />;
  return (
    <Link
      to="/reservations/$id"
      params={{ id: piece.reservation }}
      className={`${look} ${classes.named}`}
      style={style}
      title={label}
      aria-label={label}
      draggable={false}
    >
      <span className={classes.mineText}>
        <bdi className={classes.mineName}>{name}</bdi>
        <span className={classes.mineState}>{state}</span>
      </span>
    </Link>
  );
}
