import { Button, Group, Stack, Text } from "@mantine/core";
import { CopyButton } from "@/components/copy-button";
import { useCopy } from "@/hooks/use-copy";
import { useT } from "@/lib/i18n";
import classes from "@/features/access/access.module.css";

type SecretOnceProps = { secret: string; name: string; onDone: () => void };

/** A secret that nobody can show a second time. */
export function SecretOnce({ secret, name, onDone }: SecretOnceProps) {
  const t = useT();
  const [state, copy] = useCopy();
  return (
    <Stack gap="md">
      <Text>{t("access.secret_once", { name })}</Text>
      <div className={classes.secret}>
        <code>{secret}</code>
        <CopyButton text={secret} label={t("access.secret")} />
      </div>
      <Text size="xs" c="dimmed">
        {t("access.secret_use")}
      </Text>
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={() => copy(secret)}>
          {state === "copied" ? t("common.copied") : t("common.copy")}
        </Button>
        <Button onClick={onDone}>{t("access.secret_kept")}</Button>
      </Group>
    </Stack>
  );
}
