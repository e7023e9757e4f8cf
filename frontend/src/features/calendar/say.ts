/** What a screen reader is told while somebody draws with keys, and when an answer comes. */
import type { Translate } from "@/lib/i18n";
import { formatDuration, formatMoney } from "@/lib/units";
import { spanOfDrawing, type Drawing } from "./drawing";
import { spanOf } from "./layout";
import { overlaps, type Range, type Span } from "./range";
import type { Row } from "./rows";
import type { Item } from "./types";
import type { Board } from "./use-board";
import { deviceName, periodOf, timesOf } from "./words";

const SAID_SPANS = 3;

const fits = (item: Item, span: Span): boolean =>
  item.free.map(spanOf).some((free) => free.from <= span.from && span.to <= free.to);

function freeTimes(t: Translate, item: Item, range: Range, zone: string): string {
  const spans = item.free.map(spanOf).filter((free) => overlaps(free, range));
  if (spans.length === 0) return t("calendar.say_never_free");
  const told = spans.slice(0, SAID_SPANS).map((span) => timesOf(span, zone));
  const more = spans.length - told.length;
  return t("calendar.say_free", { times: told.join(", ") }) + (more > 0 ? t("calendar.say_more", { n: more }) : "");
}

/** A row that was reached. */
export function sayRow(t: Translate, row: Row, range: Range, zone: string): string {
  if (row.kind !== "device") {
    const name = row.name || t("calendar.no_rack");
    const counts = `${t("calendar.group_devices", { n: row.devices })}, ${t("calendar.group_fitting", { n: row.fitting })}`;
    return `${name}. ${counts}. ${t(row.isOpen ? "calendar.say_open" : "calendar.say_closed")}`;
  }
  const { item } = row;
  return `${deviceName(t, item, item.device)}, ${item.hostname}. ${freeTimes(t, item, range, zone)}`;
}

/** The period under the cursor. */
export function sayPeriod(t: Translate, row: Row, drawing: Drawing, zone: string): string {
  const span = spanOfDrawing(drawing);
  const period = periodOf(span, zone);
  if (row.kind !== "device") return period;
  return `${period}. ${t(fits(row.item, span) ? "calendar.say_fits" : "calendar.say_no_fit")}`;
}

/** The answer to what was chosen; null while nothing is. */
export function sayAnswer(t: Translate, board: Board, zone: string): string | null {
  const { state, quote, refusal, ways, bought, purchase } = board;
  if (bought) return t("calendar.say_bought");
  if (state.drawing?.way === "click") {
    const start = spanOfDrawing(state.drawing).from;
    return t("calendar.say_click_end", { period: timesOf({ from: start, to: start }, zone) });
  }
  if (!state.chosen) return null;
  if (purchase.isPending) return t("calendar.say_buying");
  if (refusal) return `${t(board.isLost ? "calendar.lost" : "calendar.no_fit")} ${t("calendar.say_ways", { n: ways.length })}`;
  if (quote.error) return quote.error.message;
  if (!quote.data) return t("calendar.say_asking", { period: periodOf(state.chosen, zone) });
  const { amount_total, amount_per_hour, currency } = quote.data;
  return t("calendar.say_price", {
    total: formatMoney(amount_total, currency),
    hour: formatMoney(amount_per_hour, currency),
    length: formatDuration((state.chosen.to - state.chosen.from) / 1000),
  });
}
