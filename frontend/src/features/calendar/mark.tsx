import { useT } from "@/lib/i18n";
import { Icon } from "@/components/icon";
import classes from "./calendar.module.css";
import { stretch } from "./layout";
import type { Span } from "./range";
import { timesOf } from "./words";
import { formatDuration } from "@/lib/units";

/** `choice`: what is drawn or chosen; `clash`: what does not fit; `way`: an alternative that one click takes. */
export type Mark = { kind: "choice" | "clash" | "way"; span: Span; take?: () => void };

type MarkBoxProps = { mark: Mark; range: Span; zone: string };

const percent = (part: number) => `${part * 100}%`;

export function MarkBox({ mark, range, zone }: MarkBoxProps) {
  const t = useT();
  const { left, width } = stretch(mark.span, range);
  if (width <= 0) return null;
  const style = { left: percent(left), width: percent(width) };
  const times = timesOf(mark.span, zone);
  if (mark.kind === "way") {
    return (
      <button
        type="button"
        className={`${classes.mark} ${classes.way}`}
        style={style}
        tabIndex={-1}
        title={t("calendar.take_way", { times })}
        aria-label={t("calendar.take_way", { times })}
        onClick={mark.take}
      >
        <span>{times}</span>
      </button>
    );
  }
  const isClash = mark.kind === "clash";
  // Near the end of the row the words lean to the left, or they would be cut.
  const lean = left > 0.6 ? classes.atEnd : "";
  return (
    <div className={`${classes.mark} ${isClash ? classes.clash : ""} ${lean}`} style={style}>
      <span>
        {isClash ? (
          <>
            <Icon name="warning" size={12} /> {t("calendar.no_fit_short")}
          </>
        ) : (
          `${times} · ${formatDuration((mark.span.to - mark.span.from) / 1000)}`
        )}
      </span>
    </div>
  );
}
