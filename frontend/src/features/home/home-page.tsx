import { Anchor, Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { choiceOf } from "@/features/home/last-choice";
import { MonthPanel } from "@/features/home/month-panel";
import { Newcomer } from "@/features/home/newcomer";
import { NewestEvents } from "@/features/home/newest-events";
import { NextList } from "@/features/home/next-list";
import { SliceCard } from "@/features/home/slice-card";
import { useLast, useUnderWay } from "@/features/home/use-home";
import { Hint } from "@/components/hint";
import { Icon } from "@/components/icon";
import { Page } from "@/components/page";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { sizeText } from "@/lib/reservation-words";
import classes from "@/features/home/home.module.css";

/** So many slices are followed live; a tab may watch 32 topics in all. */
const LIVE = 12;

function RepeatLast({ last }: { last: Reservation }) {
  const t = useT();
  return (
    <Hint text={t("home.repeat_why")}>
      <Button
        variant="default"
        leftSection={<Icon name="refresh" size={14} />}
        renderRoot={(props) => <Link to="/reserve" search={choiceOf(last)} {...props} />}
      >
        {t("home.repeat", { size: sizeText(last.slice) })}
      </Button>
    </Hint>
  );
}

function Slices({ running, isMore }: { running: readonly Reservation[]; isMore: boolean }) {
  const t = useT();
  const all = (
    <Anchor size="xs" renderRoot={(props) => <Link to="/reservations" {...props} />}>
      {t("home.all_reservations")}
    </Anchor>
  );
  return (
    <Panel title={t("home.slices")} aside={running.length > LIVE || isMore ? all : undefined}>
      {running.length === 0 ? (
        <p className={classes.quiet}>{t("home.slices_none")}</p>
      ) : (
        <ul className={classes.cards}>
          {running.slice(0, LIVE).map((reservation) => (
            <SliceCard key={reservation.id} reservation={reservation} live />
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** What a tenant opens each morning. */
export function HomePage() {
  const t = useT();
  const underWay = useUnderWay();
  const last = useLast();
  const reserve = (
    <Button leftSection={<Icon name="plus" />} renderRoot={(props) => <Link to="/reserve" search={{}} {...props} />}>
      {t("home.reserve")}
    </Button>
  );
  const isNew = last.data === null;
  return (
    <Page title={t("home.title")} primary={reserve} aside={last.data ? <RepeatLast last={last.data} /> : undefined}>
      {underWay.error && <ProblemAlert problem={underWay.error} retry={() => void underWay.refetch()} />}
      {isNew && <Newcomer />}
      <div className={classes.columns}>
        <div className={classes.column}>
          {underWay.isPending && <SkeletonRows rows={3} height={128} />}
          {underWay.data && !isNew && <Slices running={underWay.data.running} isMore={underWay.data.isMore} />}
          {underWay.data && !isNew && (
            <Panel title={t("home.next")}>
              <NextList ahead={underWay.data.ahead} />
            </Panel>
          )}
          <NewestEvents />
        </div>
        <div className={classes.column}>
          <MonthPanel />
        </div>
      </div>
    </Page>
  );
}
