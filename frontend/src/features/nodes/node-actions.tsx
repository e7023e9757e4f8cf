import { Button, Group } from "@mantine/core";
import { useState } from "react";
import { ConfirmDestructive } from "@/components/confirm-destructive";
import { CordonNodes } from "@/components/cordon-nodes";
import { DrainNodes } from "@/components/drain-nodes";
import { ProblemAlert } from "@/components/problem-alert";
import { useNodeChange, type Node } from "@/hooks/use-nodes";
import { useT } from "@/lib/i18n";

/** Cordon, drain, put back, revoke: whatever fits its state. */
export function NodeActions({ node }: { node: Node }) {
  const t = useT();
  const [asked, setAsked] = useState<"cordon" | "drain" | "revoke" | null>(null);
  const change = useNodeChange();
  const close = () => setAsked(null);
  if (node.state === "revoked") return null;
  const hasDrain = node.drain.state !== "none";
  const isDraining = hasDrain && node.drain.state !== "planned";
  const at = (verb: "uncordon" | "undrain") => change.mutate({ verb, nodes: [node.id] });
  return (
    <>
      <Group gap="sm">
        {change.error && <ProblemAlert problem={change.error} />}
        {!node.cordoned && (
          <Button variant="default" onClick={() => setAsked("cordon")}>
            {t("nodes.cordon")}
          </Button>
        )}
        {node.cordoned && !isDraining && (
          <Button variant="default" loading={change.isPending} onClick={() => at("uncordon")}>
            {t("nodes.uncordon")}
          </Button>
        )}
        <Button variant="default" c="var(--mantine-color-error)" onClick={() => setAsked("revoke")}>
          {t("nodes.revoke")}
        </Button>
        {hasDrain ? (
          <Button loading={change.isPending} onClick={() => at("undrain")}>
            {t("nodes.undrain")}
          </Button>
        ) : (
          <Button onClick={() => setAsked("drain")}>{t("nodes.drain")}</Button>
        )}
      </Group>
      {asked === "cordon" && <CordonNodes nodes={[node]} onClose={close} />}
      {asked === "drain" && <DrainNodes nodes={[node]} onClose={close} />}
      {asked === "revoke" && (
        <ConfirmDestructive
          action={t("nodes.revoke")}
          name={node.hostname}
          typed
          loses={t("nodes.revoke_loses", { leases: t("nodes.leases", { n: node.lease_count }) })}
          bills={t("nodes.revoke_bills")}
          onConfirm={() => change.mutateAsync({ verb: "revoke", nodes: [node.id], reason: t("nodes.revoke_reason") })}
          onClose={close}
        />
      )}
    </>
  );
}
