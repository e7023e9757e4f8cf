import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ActionLines } from "@/components/action-lines";
import { CopyButton } from "@/components/copy-button";
import { Icon } from "@/components/icon";
import { ProblemAlert } from "@/components/problem-alert";
import { ToneBadge } from "@/components/tone-badge";
import { When } from "@/components/when";
import { useNodes, type Node } from "@/hooks/use-nodes";
import { api, dataOf, type Schema } from "@/lib/api";
import { curlLine, shellWord } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import type { Problem } from "@/lib/problem";
import classes from "@/features/nodes/nodes.module.css";

type Enrolment = Schema<"Enrolment">;

/** A note, then one line to paste, then the machine itself as soon as it is heard. */
export function EnrolDialog({ onClose }: { onClose: () => void }) {
  const t = useT();
  const [note, setNote] = useState("");
  const [before, setBefore] = useState<ReadonlySet<string>>(new Set());
  const nodes = useNodes();
  const issue = useMutation<Enrolment, Problem, string>({
    mutationFn: (text) => dataOf(api.POST("/api/v1/enrolments", { body: { note: text, node: null } })),
  });
  const ask = () => {
    setBefore(new Set(nodes.data?.filter((node) => node.last_seen_at !== null).map((node) => node.id)));
    issue.mutate(note.trim());
  };
  const body = { note: note.trim() };
  return (
    <Modal size="lg" opened onClose={onClose} title={t("nodes.add")} closeButtonProps={{ "aria-label": t("common.close") }}>
      {issue.data ? (
        <Waiting enrolment={issue.data} joined={nodes.data?.filter((node) => node.online && !before.has(node.id)) ?? []} onClose={onClose} />
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            ask();
          }}
        >
          <Stack gap="md">
            <Text>{t("nodes.enrol_why")}</Text>
            <TextInput
              label={t("nodes.note")}
              description={t("nodes.note_hint")}
              maxLength={200}
              value={note}
              onChange={(event) => setNote(event.currentTarget.value)}
              data-autofocus
            />
            {issue.error && <ProblemAlert problem={issue.error} />}
            <ActionLines
              vxpu={`vxpu node enrol${body.note ? ` --note ${shellWord(body.note)}` : ""}`}
              curl={curlLine({ method: "POST", path: "/api/v1/enrolments", body })}
            />
            <Group justify="flex-end">
              <Button type="submit" loading={issue.isPending} disabled={nodes.isPending}>
                {t("nodes.make_command")}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function Waiting({ enrolment, joined, onClose }: { enrolment: Enrolment; joined: readonly Node[]; onClose: () => void }) {
  const t = useT();
  const [node] = joined;
  return (
    <Stack gap="md">
      <Text>{t("nodes.paste")}</Text>
      <div className={classes.command}>
        <pre tabIndex={0}>{enrolment.command}</pre>
        <CopyButton text={enrolment.command} label={t("nodes.command")} />
      </div>
      <Text c="dimmed">
        {t("nodes.shown_once")} <When at={enrolment.expires_at} />
      </Text>
      <div role="status" className={classes.waiting}>
        {node ? (
          <>
            <ToneBadge tone="good" icon="checkCircle" word={t("nodes.connected")} />
            <span>{t("nodes.joined", { name: node.hostname, devices: t("nodes.device_count", { n: node.device_count }) })}</span>
            <Link to="/nodes/$id" params={{ id: node.id }} className={classes.link}>
              {t("nodes.open_node")}
            </Link>
          </>
        ) : (
          <>
            <ToneBadge tone="busy" icon="busy" word={t("nodes.waiting")} />
            <span>{t("nodes.waiting_why")}</span>
          </>
        )}
      </div>
      <Group justify="flex-end">
        <Button variant="default" leftSection={node && <Icon name="check" />} onClick={onClose}>
          {t(node ? "nodes.done" : "common.close")}
        </Button>
      </Group>
    </Stack>
  );
}
