import { Button, Group, PasswordInput, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState, type FormEvent } from "react";
import { useSetPassword } from "@/features/access/use-access";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { useMe } from "@/hooks/use-me";
import { useT } from "@/lib/i18n";
import classes from "@/features/access/access.module.css";

/** The own password: the first one, or another. */
export function PasswordPanel() {
  const t = useT();
  const me = useMe();
  const set = useSetPassword();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const [isChecked, setChecked] = useState(false);
  const missing = (value: string) => (isChecked && value === "" ? t("access.fill_in") : undefined);
  const differs = isChecked && next !== again ? t("access.passwords_differ") : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (next === "" || next !== again || (me.has_password && current === "")) return;
    set.mutate(me.has_password ? { current, new: next } : { new: next }, {
      onSuccess: () => {
        [setCurrent, setNext, setAgain].forEach((clear) => clear(""));
        setChecked(false);
        notifications.show({ message: t("access.password_set") });
      },
    });
  };
  return (
    <div className={classes.narrow}>
      <Panel title={me.has_password ? t("access.change_password") : t("access.first_password")}>
        <form onSubmit={submit} noValidate>
          <Stack gap="md">
            <Text size="sm" c="dimmed">
              {t("access.password_hint")}
            </Text>
            <input type="text" autoComplete="username" value={me.email} readOnly hidden />
            {me.has_password && (
              <PasswordInput
                label={t("access.current_password")}
                autoComplete="current-password"
                value={current}
                error={missing(current)}
                onChange={(event) => setCurrent(event.currentTarget.value)}
              />
            )}
            <PasswordInput
              label={t("access.new_password")}
              autoComplete="new-password"
              value={next}
              error={missing(next)}
              onChange={(event) => setNext(event.currentTarget.value)}
            />
            <PasswordInput
              label={t("access.new_password_again")}
              autoComplete="new-password"
              value={again}
              error={differs}
              onChange={(event) => setAgain(event.currentTarget.value)}
            />
            {set.error && <ProblemAlert problem={set.error} />}
            <Group justify="flex-end">
              <Button type="submit" loading={set.isPending}>
                {t("access.set_password")}
              </Button>
            </Group>
          </Stack>
        </form>
      </Panel>
    </div>
  );
}
