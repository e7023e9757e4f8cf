import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import { useLiveTopic } from "@/hooks/use-live-topic";
import { api, dataOf, type Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { keys } from "@/lib/query-keys";
import classes from "@/features/home/home.module.css";

type FeedEvent = Schema<"FeedEvent">;

const SHOWN = 8;

function useNewest() {
  // Log-ins and tokens stand on the page of events; here is what became of slices.
  const filters = { kind: "reservation", limit: SHOWN };
  const newest = useQuery({
    queryKey: keys.events(filters),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/events", { params: { query: filters }, signal })),
    refetchInterval: 30_000,
  });
  const again = () => void newest.refetch();
  useLiveTopic("events", { onDelta: again, onGap: again });
  return newest;
}

function Row({ event }: { event: FeedEvent }) {
  return (
    <li className={classes.row}>
      <StateBadge state={event.kind.replace(/^reservation\./, "")} />
      <Link to="/reservations/$id" params={{ id: event.subject }} className={classes.rowName}>
        <bdi>{event.subject_name || event.subject}</bdi>
      </Link>
      <span className={classes.rowFact}>
        <When at={event.at} />
      </span>
    </li>
  );
}

/** What became of slices last. */
export function NewestEvents() {
  const t = useT();
  const newest = useNewest();
  const all = (
    <Anchor size="xs" renderRoot={(props) => <Link to="/events" {...props} />}>
      {t("home.all_events")}
    </Anchor>
  );
  return (
    <Panel title={t("home.events")} aside={all}>
      {newest.error && <ProblemAlert problem={newest.error} retry={() => void newest.refetch()} />}
      {newest.isPending && <SkeletonRows rows={SHOWN} height={28} />}
      {newest.data && newest.data.items.length === 0 && <p className={classes.quiet}>{t("home.events_none")}</p>}
      <ul className={classes.list}>{newest.data?.items.map((event) => <Row key={event.id} event={event} />)}</ul>
    </Panel>
  );
}
