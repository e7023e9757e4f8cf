import { Button } from "@mantine/core";
import { useMemo, useState } from "react";
import { useEndSession, useSessions } from "@/features/access/use-access";
import { ConfirmDestructive } from "@/components/confirm-destructive";
import { DataTable, type Column } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { ToneBadge } from "@/components/tone-badge";
import { When } from "@/components/when";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";

type Session = Schema<"Session">;

/** "Firefox on Linux" out of what a browser calls itself; the whole text if it is none that we know. */
export function browserName(client: string): string {
  const browser = ["Edg", "OPR", "Firefox", "Chrome", "Safari"].find((name) => client.includes(`${name}/`));
  const system = ["Windows", "Android", "iPhone", "iPad", "Mac OS X", "Linux"].find((name) => client.includes(name));
  const name = { Edg: "Edge", OPR: "Opera" }[browser ?? ""] ?? browser;
  return name && system ? `${name}, ${system}` : client;
}

export function SessionsPanel() {
  const t = useT();
  const sessions = useSessions();
  const end = useEndSession();
  const [doomed, setDoomed] = useState<Session | null>(null);
  const columns = useMemo<Column<Session>[]>(
    () => [
      {
        id: "client",
        head: t("access.browser"),
        value: (row) => browserName(row.client),
        cell: (row) => (
          <span title={row.client}>
            {browserName(row.client) || t("common.unknown")}{" "}
            {row.is_current && <ToneBadge tone="good" icon="checkCircle" word={t("access.this_browser")} />}
          </span>
        ),
        fixed: true,
      },
      { id: "address", head: t("access.address"), value: (row) => row.address, cell: (row) => row.address ?? t("common.unknown") },
      { id: "created", head: t("access.logged_in"), value: (row) => row.created_at, cell: (row) => <When at={row.created_at} /> },
      { id: "expires", head: t("access.expires"), value: (row) => row.expires_at, cell: (row) => <When at={row.expires_at} /> },
      { id: "way", head: t("access.way"), value: (row) => row.token, cell: (row) => t(row.token === null ? "access.by_password" : "access.by_token") },
      {
        id: "do",
        head: "",
        cell: (row) =>
          !row.is_current && (
            <Button size="compact-xs" variant="default" onClick={() => setDoomed(row)}>
              {t("access.end_session")}
            </Button>
          ),
        end: true,
        fixed: true,
      },
    ],
    [t],
  );
  if (sessions.isPending) return <SkeletonRows rows={3} />;
  if (sessions.error && sessions.items.length === 0) return <ProblemAlert problem={sessions.error} retry={sessions.refetch} />;
  return (
    <>
      <DataTable
        name="sessions"
        label={t("access.sessions")}
        columns={columns}
        rows={sessions.items}
        rowId={(row) => row.id}
        more={sessions.more}
        empty={<EmptyState title={t("access.no_session_title")} text={t("access.no_session_text")} />}
      />
      {doomed && (
        <ConfirmDestructive
          action={t("access.end_session")}
          name={browserName(doomed.client)}
          loses={t("access.end_loses")}
          onConfirm={() => end.mutateAsync(doomed.id)}
          onClose={() => setDoomed(null)}
        />
      )}
    </>
  );
}
