import { Button } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { columnsOf } from "@/features/reservations/columns";
import { ListFilters } from "@/features/reservations/list-filters";
import { useReservationList, type ListFilters as Filters } from "@/features/reservations/use-list";
import { ActionLines } from "@/components/action-lines";
import { DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Icon } from "@/components/icon";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useMe } from "@/hooks/use-me";
import { useSearchText } from "@/hooks/use-search-text";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import classes from "@/features/reservations/reservations.module.css";

/** So long after the last key the server is asked. */
const TYPING_MS = 200;

function NothingHere({ filters, children }: { filters: Filters; children: React.ReactNode }) {
  const t = useT();
  const navigate = useNavigate();
  if (!filters.state && !filters.project && !filters.q) {
    return <EmptyState title={t("reservations.empty_title")} text={t("reservations.empty_text")} action={children} />;
  }
  return (
    <EmptyState
      title={t("reservations.no_match_title")}
      text={t("reservations.no_match_text")}
      action={
        <Button variant="default" size="xs" onClick={() => void navigate({ to: ".", search: {} as never, replace: true })}>
          {t("reservations.clear")}
        </Button>
      }
    />
  );
}

function List({ filters, reserve }: { filters: Filters; reserve: React.ReactNode }) {
  const t = useT();
  const navigate = useNavigate();
  const { projects } = useMe();
  const list = useReservationList(filters);
  const columns = useMemo(() => columnsOf(t, projects), [t, projects]);
  const { rows, hasNextPage } = list;
  const isWhole = !hasNextPage;
  if (list.error && rows.length === 0) return <ProblemAlert problem={list.error} retry={() => void list.refetch()} />;
  return (
    <>
      {list.news > 0 && (
        <div className={classes.news} role="status">
          <Button size="xs" variant="light" leftSection={<Icon name="refresh" size={14} />} onClick={list.showNews}>
            {t("reservations.news", { n: list.news })}
          </Button>
        </div>
      )}
      <DataTable
        name="reservations"
        label={t("reservations.list")}
        server
        columns={columns}
        rows={rows}
        rowId={(row) => row.id}
        sort="-created_at"
        tools={<ListFilters />}
        count={isWhole ? t("reservations.loaded_all", { n: rows.length }) : t("reservations.loaded", { n: rows.length.toLocaleString("en-GB") })}
        onOpen={(row) => void navigate({ to: "/reservations/$id", params: { id: row.id } })}
        empty={list.isPending ? <SkeletonRows rows={10} /> : <NothingHere filters={filters}>{reserve}</NothingHere>}
        more={isWhole ? null : { load: () => void list.fetchNextPage(), busy: list.isFetchingNextPage, auto: !list.isFetchNextPageError }}
      />
      {list.isFetchNextPageError && <ProblemAlert problem={list.error} retry={() => void list.fetchNextPage()} />}
    </>
  );
}

/** Every reservation that the caller may see, the newest first. */
export function ReservationsPage() {
  const t = useT();
  const [state] = useSearchText("state");
  const [project] = useSearchText("project");
  const [typed] = useSearchText("q");
  const [sort] = useSearchText("sort");
  const [q] = useDebouncedValue(typed.trim(), TYPING_MS);
  const filters = { state, project, q, sort };
  const reserve = (
    <Button leftSection={<Icon name="plus" />} renderRoot={(props) => <Link to="/reserve" search={{}} {...props} />}>
      {t("reservations.new")}
    </Button>
  );
  return (
    <Page title={t("reservations.title")} primary={reserve}>
      <List filters={filters} reserve={reserve} />
      <ActionLines
        vxpu={`vxpu reserve list${state && !state.includes(",") && state !== "live" ? ` --state ${state}` : ""}`}
        curl={curlLine({ method: "GET", path: `/api/v1/reservations?limit=200${state ? `&state=${state}` : ""}` })}
      />
    </Page>
  );
}
