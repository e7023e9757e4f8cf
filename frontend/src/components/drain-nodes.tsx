import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { ActionLines } from "@/components/action-lines";
import { Icon } from "@/components/icon";
import { ImpactList } from "@/components/impact-list";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { impactQuery, useNodeChange } from "@/hooks/use-nodes";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";

type DrainNodesProps = { nodes: readonly { id: string; hostname: string }[]; onClose: () => void };

/** Says who is affected before anything happens, then drains. */
export function DrainNodes({ nodes, onClose }: DrainNodesProps) {
  const t = useT();
  const [reason, setReason] = useState("");
  const change = useNodeChange();
  const impacts = useQueries({ queries: nodes.map((node) => impactQuery(node.id)) });
  const failed = impacts.find((one) => one.error);
  const known = impacts.flatMap((one) => (one.data ? [one.data] : []));
  const isKnown = known.length === nodes.length;
  const body = { reason: reason.trim() };
  const confirm = () => change.mutate({ verb: "drain", nodes: nodes.map((node) => node.id), ...body, at: null }, { onSuccess: onClose });
  const curl = nodes.map((node) => curlLine({ method: "POST", path: `/api/v1/nodes/${node.id}/drain`, body })).join("\n");
  return (
    <Modal size="xl" opened onClose={onClose} title={t("nodes.drain_title", { nodes: nodes.length === 1 ? (nodes[0]?.hostname ?? "") : t("nodes.count", { n: nodes.length }) })} closeButtonProps={{ "aria-label": t("common.close") }}>
      <Stack gap="md">
        <Text>{t("nodes.drain_why")}</Text>
        {nodes.length > 1 && <Text c="dimmed">{nodes.map((node) => node.hostname).join(", ")}</Text>}
        {failed && <ProblemAlert problem={failed.error} retry={() => impacts.forEach((one) => void one.refetch())} />}
        {!failed && !isKnown && <SkeletonRows rows={4} />}
        {isKnown && <ImpactList impacts={known} />}
        <TextInput
          label={t("nodes.reason")}
          description={t("nodes.reason_hint")}
          required
          maxLength={200}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus
        />
        {change.error && <ProblemAlert problem={change.error} />}
        <ActionLines curl={curl} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t("confirm.keep")}
          </Button>
          <Button
            color="red.9"
            leftSection={<Icon name="warning" />}
            loading={change.isPending}
            disabled={!isKnown || body.reason === ""}
            onClick={confirm}
          >
            {t("nodes.drain_confirm", { n: nodes.length })}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
