import { Link } from "@tanstack/react-router";
import { Tooltip } from "@mantine/core";
import { useT, type MessageKey } from "@/lib/i18n";
import classes from "./calendar.module.css";
import { spanOf, type Box } from "./layout";
import { periodOf, sizeOf } from "./words";
import { formatInstant } from "@/lib/time-format";

type PieceBoxProps = { box: Box; zone: string; /** What its owner calls it. */ name: string | undefined };

const percent = (part: number) => `${part * 100}%`;

/** Capacity that is taken: the viewer's own with its name and state, anybody else's grey and nameless. */
export function PieceBox({ box, zone, name }: PieceBoxProps) {
  const t = useT();
  const { piece } = box;
  const style = { left: percent(box.left), width: percent(box.width), top: box.top, height: box.height };
  const cut = `${box.cutLeft ? classes.cutLeft : ""} ${box.cutRight ? classes.cutRight : ""}`;
  if (!piece.mine || !piece.reservation) {
    return <div className={`${classes.piece} ${classes.other} ${cut}`} style={style} />;
  }
  const span = spanOf(piece);
  const key = `state.${piece.state ?? ""}` as MessageKey;
  const word = t(key);
  const state = word === key ? (piece.state ?? "") : word;
  const shown = name || t("calendar.unnamed");
  const period = Number.isFinite(span.to)
    ? periodOf(span, zone)
    : t("calendar.open_from", { at: formatInstant(span.from, zone, "short") });
  const label = t("calendar.mine_label", { name: shown, state, period, size: sizeOf(piece) });
  return (
    <Tooltip label={label}>
      <Link
        to="/reservations/$id"
        params={{ id: piece.reservation }}
        className={`${classes.piece} ${classes.mine} ${cut}`}
        style={style}
        aria-label={label}
        draggable={false}
      >
        <bdi className={classes.mineName}>{shown}</bdi>
        <span className={classes.mineState}>{state}</span>
      </Link>
    </Tooltip>
  );
}
