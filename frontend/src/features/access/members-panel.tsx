import { Button } from "@mantine/core";
import { useMemo, useState } from "react";
import { InviteDialog } from "@/features/access/invite-dialog";
import { useMembers, useRemoveMember } from "@/features/access/use-access";
import { ConfirmDestructive } from "@/components/confirm-destructive";
import { DataTable, type Column } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { When } from "@/components/when";
import { may, useMe } from "@/hooks/use-me";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";

type Member = Schema<"Member">;

function useColumns(onRemove: ((member: Member) => void) | null): Column<Member>[] {
  const t = useT();
  const me = useMe();
  return useMemo(() => {
    const projects = new Map(me.projects.map((project) => [project.id, project.name]));
    const projectOf = (row: Member) => (row.project === null ? t("access.whole_tenant") : (projects.get(row.project) ?? row.project));
    const columns: Column<Member>[] = [
      {
        id: "name",
        head: t("access.name"),
        value: (row) => row.user.name,
        cell: (row) => (
          <>
            <bdi>{row.user.name}</bdi>
            {row.user.id === me.user && ` (${t("access.you")})`}
          </>
        ),
        fixed: true,
      },
      { id: "email", head: t("access.email"), value: (row) => row.user.email, cell: (row) => row.user.email },
      { id: "role", head: t("access.role"), value: (row) => row.role, cell: (row) => t(`access.role_${row.role}`) },
      { id: "project", head: t("access.where"), value: projectOf, cell: (row) => <bdi>{projectOf(row)}</bdi> },
      { id: "since", head: t("access.since"), value: (row) => row.created_at, cell: (row) => <When at={row.created_at} /> },
    ];
    if (!onRemove) return columns;
    return [
      ...columns,
      {
        id: "do",
        head: "",
        cell: (row) => (
          <Button size="compact-xs" variant="default" aria-label={`${t("access.remove")} ${row.user.name}`} onClick={() => onRemove(row)}>
            {t("access.remove")}
          </Button>
        ),
        end: true,
        fixed: true,
      },
    ];
  }, [t, me, onRemove]);
}

export function MembersPanel({ isAdding, onAdded }: { isAdding: boolean; onAdded: () => void }) {
  const t = useT();
  const me = useMe();
  const members = useMembers();
  const remove = useRemoveMember();
  const [doomed, setDoomed] = useState<Member | null>(null);
  const columns = useColumns(may(me, "identity:write") ? setDoomed : null);
  if (members.isPending) return <SkeletonRows />;
  if (members.error && members.items.length === 0) return <ProblemAlert problem={members.error} retry={members.refetch} />;
  return (
    <>
      <DataTable
        name="members"
        label={t("access.members")}
        columns={columns}
        rows={members.items}
        rowId={(row) => row.id}
        more={members.more}
        empty={<EmptyState title={t("access.no_member_title")} text={t("access.no_member_text")} />}
      />
      {isAdding && <InviteDialog onClose={onAdded} />}
      {doomed && (
        <ConfirmDestructive
          action={t("access.remove")}
          name={doomed.user.name}
          loses={t("access.remove_loses", { role: t(`access.role_${doomed.role}`) })}
          bills={t("access.remove_bills")}
          onConfirm={() => remove.mutateAsync(doomed.id)}
          onClose={() => setDoomed(null)}
        />
      )}
    </>
  );
}
