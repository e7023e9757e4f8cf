import { Button } from "@mantine/core";
import { useMemo, useState } from "react";
import { NewTokenDialog } from "@/features/access/new-token-dialog";
import { useRevokeToken, useTokens } from "@/features/access/use-access";
import { ConfirmDestructive } from "@/components/confirm-destructive";
import { DataTable, type Column } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Id } from "@/components/id";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { ToneBadge } from "@/components/tone-badge";
import { When } from "@/components/when";
import { useMe } from "@/hooks/use-me";
import { useNow } from "@/hooks/use-now";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";

type Token = Schema<"Token">;
type TokenState = "valid" | "expired" | "revoked";

const stateOf = (token: Token, now: number): TokenState =>
  token.revoked_at !== null ? "revoked" : new Date(token.expires_at).getTime() <= now ? "expired" : "valid";

function TokenStateBadge({ state }: { state: TokenState }) {
  const t = useT();
  if (state === "valid") return <ToneBadge tone="good" icon="checkCircle" word={t("access.valid")} />;
  return <ToneBadge tone="calm" icon="minus" word={t(`access.${state}`)} />;
}

function useColumns(onRevoke: (token: Token) => void): Column<Token>[] {
  const t = useT();
  const me = useMe();
  const now = useNow(60_000);
  return useMemo(
    () => [
      { id: "name", head: t("access.name"), value: (row) => row.name, cell: (row) => <bdi>{row.name}</bdi>, fixed: true },
      { id: "state", head: t("access.state"), value: (row) => stateOf(row, now), cell: (row) => <TokenStateBadge state={stateOf(row, now)} /> },
      { id: "hint", head: t("access.begins"), value: (row) => row.hint, cell: (row) => <code>{row.hint}…</code> },
      { id: "scopes", head: t("access.scopes"), value: (row) => row.scopes.join(" "), cell: (row) => row.scopes.join(", ") },
      {
        id: "user",
        head: t("access.user"),
        value: (row) => row.user,
        cell: (row) => (row.user === me.user ? t("access.you") : <Id value={row.user} />),
        hidden: true,
      },
      { id: "used", head: t("access.last_used"), value: (row) => row.last_used_at, cell: (row) => <When at={row.last_used_at} none={t("access.never")} /> },
      { id: "expires", head: t("access.expires"), value: (row) => row.expires_at, cell: (row) => <When at={row.expires_at} /> },
      { id: "created", head: t("access.created"), value: (row) => row.created_at, cell: (row) => <When at={row.created_at} />, hidden: true },
      { id: "id", head: t("access.id"), value: (row) => row.id, cell: (row) => <Id value={row.id} />, hidden: true },
      {
        id: "do",
        head: "",
        cell: (row) =>
          stateOf(row, now) === "valid" && (
            <Button size="compact-xs" variant="default" aria-label={`${t("access.revoke")} ${row.name}`} onClick={() => onRevoke(row)}>
              {t("access.revoke")}
            </Button>
          ),
        end: true,
        fixed: true,
      },
    ],
    [t, me.user, now, onRevoke],
  );
}

export function TokensPanel({ isMaking, onMade }: { isMaking: boolean; onMade: () => void }) {
  const t = useT();
  const me = useMe();
  const tokens = useTokens();
  const revoke = useRevokeToken();
  const [doomed, setDoomed] = useState<Token | null>(null);
  const columns = useColumns(setDoomed);
  if (tokens.isPending) return <SkeletonRows />;
  if (tokens.error && tokens.items.length === 0) return <ProblemAlert problem={tokens.error} retry={tokens.refetch} />;
  return (
    <>
      <DataTable
        name="tokens"
        label={t("access.tokens")}
        columns={columns}
        rows={tokens.items}
        rowId={(row) => row.id}
        sort="-created"
        more={tokens.more}
        empty={<EmptyState title={t("access.no_token_title")} text={t("access.no_token_text")} />}
      />
      {isMaking && <NewTokenDialog onClose={onMade} />}
      {doomed && (
        <ConfirmDestructive
          action={t("access.revoke")}
          name={doomed.name}
          loses={doomed.id === me.token ? t("access.revoke_loses_self") : t("access.revoke_loses")}
          bills={t("access.revoke_bills")}
          onConfirm={() => revoke.mutateAsync(doomed.id)}
          onClose={() => setDoomed(null)}
        />
      )}
    </>
  );
}
