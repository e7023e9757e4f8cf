import { Button, Group, Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { ActionLines } from "@/components/action-lines";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useT } from "@/lib/i18n";
import type { Problem } from "@/lib/problem";
import { sizeText } from "@/lib/reservation-words";
import classes from "./calendar.module.css";
import { BoughtNote } from "./bought-note";
import { Conflict } from "./conflict";
import { linesOf } from "./lines-to-copy";
import { PeriodForm, shownText, type Edit } from "./period-form";
import { Terms } from "./terms";
import type { Item } from "./types";
import type { Board } from "./use-board";
import { useLatest } from "./use-latest";
import type { Quote } from "./use-quote";
import { periodOf } from "./words";

type ReservePanelProps = { board: Board; items: Item[]; zone: string; /** Said while nothing is chosen. */ hint?: string };

/** What was chosen, by whichever way, and what it costs: one small panel for all four. */
export function ReservePanel({ board, items, zone, hint }: ReservePanelProps) {
  const t = useT();
  const { state, dispatch, size, earliest, now, project } = board;
  const { chosen } = state;
  const { edited } = state;
  const text = useMemo(() => shownText(edited, chosen, zone), [edited, chosen, zone]);
  const onEdit = useLatest((edit: Edit) => dispatch({ type: "edit", ...edit }));
  const lines = chosen && project ? linesOf(chosen, size, project.id, zone, now) : null;
  return (
    <Stack gap="md">
      <div>
        <h2 className={classes.heading}>{t("calendar.panel")}</h2>
        <Text size="xs" c="dimmed">
          {sizeText(size)}
          {project && ` · ${project.name}`}
        </Text>
      </div>
      <PeriodForm
        items={items}
        text={text}
        earliest={earliest}
        onEdit={onEdit}
      />
      {project === null && <Text size="sm">{t("calendar.no_project")}</Text>}
      {chosen && (
        <Text size="sm" fw={600}>
          {periodOf(chosen, zone)}
        </Text>
      )}
      {chosen && <Answer board={board} items={items} zone={zone} />}
      {board.bought && !chosen && <BoughtNote bought={board.bought} zone={zone} onClose={board.forget} />}
      {hint && !chosen && !board.bought && (
        <Text size="xs" c="dimmed" style={{ whiteSpace: "pre-line" }}>
          {hint}
        </Text>
      )}
      {(chosen || state.drawing) && (
        <Group justify="flex-end">
          <Button size="xs" variant="subtle" color="gray" onClick={() => dispatch({ type: "cancel" })}>
            {t("common.cancel")}
          </Button>
        </Group>
      )}
      {lines && <ActionLines vxpu={lines.vxpu} curl={lines.curl} />}
    </Stack>
  );
}

function Answer({ board, items, zone }: Omit<ReservePanelProps, "hint">) {
  const { quote, purchase, refusal, ways } = board;
  if (purchase.error && !refusal) {
    return (
      <>
        <ProblemAlert problem={purchase.error} />
        <Priced board={board} quote={quote} />
      </>
    );
  }
  if (refusal) {
    return (
      <Conflict
        isLost={board.isLost}
        isNamed={board.state.chosen?.device != null}
        detail={refusal.detail}
        constraints={refusal.constraints}
        ways={ways}
        items={items}
        zone={zone}
        onTake={board.take}
      />
    );
  }
  return <Priced board={board} quote={quote} />;
}

function Priced({ board, quote }: { board: Board; quote: UseQueryResult<Quote, Problem> }) {
  if (quote.error) return <ProblemAlert problem={quote.error} retry={() => void quote.refetch()} />;
  if (!quote.data) return <SkeletonRows rows={4} height={20} />;
  if (!quote.data.fits) return null;
  return <Terms quote={quote.data} isBuying={board.purchase.isPending} onReserve={board.reserve} />;
}
