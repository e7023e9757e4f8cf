import { Button, Stack, VisuallyHidden } from "@mantine/core";
import { useRef } from "react";
import { useT } from "@/lib/i18n";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { AgendaList } from "./agenda-list";
import classes from "./calendar.module.css";
import type { Range } from "./range";
import { ReservePanel } from "./reserve-panel";
import { sayAnswer } from "./say";
import type { Item, Size } from "./types";
import { useBoard } from "./use-board";
import { useFocusAnswer } from "./use-focus-answer";
import { useMyReservations } from "./use-my-reservations";

type PhoneCalendarProps = {
  items: Item[];
  size: Size;
  onSize: (size: Size) => void;
  range: Range;
  zone: string;
};

/** A list a day of what the viewer has, and the form. */
export function PhoneCalendar({ items, size, onSize, range, zone }: PhoneCalendarProps) {
  const t = useT();
  const board = useBoard(items, size, onSize);
  const mine = useMyReservations();
  const panel = useRef<HTMLElement | null>(null);
  useFocusAnswer(board, panel);
  return (
    <Stack gap="lg">
      <Button variant="default" onClick={() => panel.current?.scrollIntoView({ block: "start" })}>
        {t("calendar.to_form")}
      </Button>
      {mine.error && <ProblemAlert problem={mine.error} retry={() => void mine.refetch()} />}
      {mine.isPending && <SkeletonRows rows={3} height={48} />}
      {mine.data && <AgendaList range={range} zone={zone} reservations={mine.data} />}
      <section className={classes.panel} aria-label={t("calendar.panel")} ref={panel}>
        <ReservePanel board={board} items={items} zone={zone} />
      </section>
      <VisuallyHidden role="status" aria-live="polite">
        {sayAnswer(t, board, zone) ?? ""}
      </VisuallyHidden>
    </Stack>
  );
}
