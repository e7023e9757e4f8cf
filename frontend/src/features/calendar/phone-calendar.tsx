import { Stack, VisuallyHidden } from "@mantine/core";
import { useRef } from "react";
import { useT } from "@/lib/i18n";
import { SkeletonRows } from "@/components/skeleton-rows";
import type { Reservation } from "@/lib/reservation";
import { AgendaList } from "./agenda-list";
import classes from "./calendar.module.css";
import type { Range } from "./range";
import { ReservePanel } from "./reserve-panel";
import { sayAnswer } from "./say";
import type { Item, Size } from "./types";
import { useBoard } from "./use-board";
import { useFocusAnswer } from "./use-focus-answer";

type PhoneCalendarProps = {
  items: Item[];
  size: Size;
  onSize: (size: Size) => void;
  range: Range;
  zone: string;
  /** Not known yet. */
  reservations: Reservation[] | undefined;
};

/** A list a day of what the viewer has, and the form. */
export function PhoneCalendar({ items, size, onSize, range, zone, reservations }: PhoneCalendarProps) {
  const t = useT();
  const board = useBoard(items, size, onSize);
  const panel = useRef<HTMLElement | null>(null);
  useFocusAnswer(board, panel);
  return (
    <Stack gap="lg">
      {reservations ? <AgendaList range={range} zone={zone} reservations={reservations} /> : <SkeletonRows rows={3} height={48} />}
      <section className={classes.panel} aria-label={t("calendar.panel")} ref={panel}>
        <ReservePanel board={board} items={items} zone={zone} />
      </section>
      <VisuallyHidden role="status" aria-live="polite">
        {sayAnswer(t, board, zone) ?? ""}
      </VisuallyHidden>
    </Stack>
  );
}
