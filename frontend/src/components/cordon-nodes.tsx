import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { ActionLines } from "@/components/action-lines";
import { ProblemAlert } from "@/components/problem-alert";
import { useNodeChange } from "@/hooks/use-nodes";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";

type CordonNodesProps = { nodes: readonly { id: string; hostname: string }[]; onClose: () => void };

/** Nothing is lost by it, so it asks once and shows the lines. */
export function CordonNodes({ nodes, onClose }: CordonNodesProps) {
  const t = useT();
  const change = useNodeChange();
  const confirm = () => change.mutate({ verb: "cordon", nodes: nodes.map((node) => node.id) }, { onSuccess: onClose });
  const curl = nodes.map((node) => curlLine({ method: "POST", path: `/api/v1/nodes/${node.id}/cordon` })).join("\n");
  return (
    <Modal opened onClose={onClose} title={t("nodes.cordon_title", { nodes: t("nodes.count", { n: nodes.length }) })} closeButtonProps={{ "aria-label": t("common.close") }}>
      <Stack gap="md">
        <Text>{t("nodes.cordon_why")}</Text>
        <Text c="dimmed">{nodes.map((node) => node.hostname).join(", ")}</Text>
        {change.error && <ProblemAlert problem={change.error} />}
        <ActionLines curl={curl} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t("common.cancel")}
          </Button>
          <Button loading={change.isPending} onClick={confirm}>
            {t("nodes.cordon")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
