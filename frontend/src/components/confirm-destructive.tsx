import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { useT } from "@/lib/i18n";
import { Icon } from "@/components/icon";
import { ProblemAlert } from "@/components/problem-alert";

type ConfirmDestructiveProps = {
  /** The verb on the button: "Revoke". */
  action: string;
  /** The object's name, as the page shows it. */
  name: string;
  /** What will be lost. */
  loses: ReactNode;
  /** What will be billed; left out where nothing costs anything. */
  bills?: ReactNode;
  /** Ask to type the name first, for what cannot be had back. */
  typed?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
};

/** Asks before something is lost. Mount it to ask; it closes itself after a success. */
export function ConfirmDestructive(props: ConfirmDestructiveProps) {
  const { action, name, loses, bills, typed = false, onConfirm, onClose } = props;
  const t = useT();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await onConfirm();
      onClose();
    } catch (thrown) {
      setProblem(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={t("confirm.title", { action, name })} closeButtonProps={{ "aria-label": t("common.close") }}>
      <Stack gap="md">
        <div>
          <Text size="xs" c="dimmed">
            {t("confirm.loses")}
          </Text>
          <Text component="div">{loses}</Text>
        </div>
        {bills && (
          <div>
            <Text size="xs" c="dimmed">
              {t("confirm.bills")}
            </Text>
            <Text component="div">{bills}</Text>
          </div>
        )}
        {typed && (
          <TextInput
            label={t("confirm.type_name", { name })}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autoComplete="off"
          />
        )}
        {problem !== null && <ProblemAlert problem={problem} />}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t("confirm.keep")}
          </Button>
          <Button
            color="red.9"
            leftSection={<Icon name="warning" />}
            loading={busy}
            disabled={typed && text.trim() !== name.trim()}
            onClick={() => void confirm()}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
