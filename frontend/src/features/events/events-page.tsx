import { ActionIcon, NativeSelect, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { actorWords, kindWords, ROOMS } from "@/features/events/event-words";
import { SubjectLink } from "@/features/events/subject-link";
import { DataTable, type Column } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Icon, type IconName } from "@/components/icon";
import { ActionLines } from "@/components/action-lines";
import { LiveDot } from "@/components/live-dot";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { ToneBadge, type Tone } from "@/components/tone-badge";
import { When } from "@/components/when";
import { useLiveTopic } from "@/hooks/use-live-topic";
import { useMe } from "@/hooks/use-me";
import { usePages } from "@/hooks/use-pages";
import { useSearchText } from "@/hooks/use-search-text";
import { api, dataOf, type Schema } from "@/lib/api";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import { keys } from "@/lib/query-keys";

type FeedEvent = Schema<"FeedEvent">;

const LOOKS: Record<FeedEvent["severity"], { tone: Tone; icon: IconName }> = {
  info: { tone: "calm", icon: "info" },
  warning: { tone: "wait", icon: "warning" },
  error: { tone: "bad", icon: "crossCircle" },
};

function useColumns(): Column<FeedEvent>[] {
  const t = useT();
  const me = useMe().user;
  return useMemo(
    () => [
      { id: "at", head: t("events.at"), value: (row) => row.at, cell: (row) => <When at={row.at} />, fixed: true },
      {
        id: "kind",
        head: t("events.kind"),
        value: (row) => kindWords(row.kind, t),
        cell: (row) => <ToneBadge {...LOOKS[row.severity]} word={kindWords(row.kind, t)} />,
        fixed: true,
      },
      {
        id: "subject",
        head: t("events.subject"),
        value: (row) => `${row.subject_name} ${row.subject}`.trim(),
        cell: (row) => <SubjectLink event={row} />,
      },
      { id: "reason", head: t("events.reason"), value: (row) => row.reason, cell: (row) => <bdi>{row.reason}</bdi> },
      { id: "actor", head: t("events.actor"), value: (row) => actorWords(row.actor, me, t), cell: (row) => actorWords(row.actor, me, t) },
      {
        id: "data",
        head: t("events.details"),
        value: (row) => JSON.stringify(row.data),
        cell: (row) => <code>{JSON.stringify(row.data)}</code>,
        hidden: true,
      },
    ],
    [t, me],
  );
}

/** What happened, newest first, and what happens now. */
export function EventsPage() {
  const t = useT();
  const me = useMe();
  const queries = useQueryClient();
  const [kind, setKind] = useSearchText("kind");
  const [subject, setSubject] = useSearchText("subject");
  const query = { kind: kind || undefined, subject: subject.trim() || undefined };
  const events = usePages<FeedEvent>(keys.events(query), (cursor, signal) =>
    dataOf(api.GET("/api/v1/events", { params: { query: { ...query, cursor, limit: 100 } }, signal })),
  );
  const refetch = () => void queries.invalidateQueries({ queryKey: keys.events() });
  const { status } = useLiveTopic("events", { onDelta: refetch, onGap: refetch });
  const columns = useColumns();
  const rooms = ROOMS.filter((room) => room !== "node" || me.is_operator);
  const path = `/api/v1/events?${new URLSearchParams({ ...(kind ? { kind } : {}), ...(subject ? { subject } : {}) })}`.replace(/\?$/, "");
  const tools = (
    <>
      <NativeSelect
        size="xs"
        aria-label={t("events.kind")}
        value={rooms.find((room) => room === kind) ?? ""}
        onChange={(event) => setKind(event.currentTarget.value)}
        data={[{ value: "", label: t("events.all") }, ...rooms.map((room) => ({ value: room, label: t(`events.room_${room}`) }))]}
      />
      <TextInput
        size="xs"
        aria-label={t("events.subject_filter")}
        placeholder={t("events.subject_filter")}
        value={subject}
        onChange={(event) => setSubject(event.currentTarget.value)}
        rightSection={
          subject && (
            <ActionIcon variant="subtle" color="gray" size={20} aria-label={t("events.all_subjects")} onClick={() => setSubject("")}>
              <Icon name="cross" size={12} />
            </ActionIcon>
          )
        }
      />
    </>
  );
  const isFiltered = kind !== "" || subject !== "";
  return (
    <Page title={t("events.title")} aside={<LiveDot status={status} />}>
      {events.error != null && <ProblemAlert problem={events.error} retry={events.refetch} />}
      {events.isPending ? (
        <SkeletonRows rows={10} height={36} />
      ) : (
        <DataTable
          name="events"
          label={t("events.title")}
          columns={columns}
          rows={events.items}
          rowId={(row) => row.id}
          tools={tools}
          more={events.more}
          empty={
            <EmptyState
              title={isFiltered ? t("events.none_match") : t("events.empty_title")}
              text={isFiltered ? t("events.none_match_text") : t("events.empty_text")}
            />
          }
        />
      )}
      <ActionLines vxpu={`vxpu api get '${path}'`} curl={curlLine({ method: "GET", path })} />
    </Page>
  );
}
