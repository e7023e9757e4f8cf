import { Button, Checkbox, Group, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { SecretOnce } from "@/features/access/secret-once";
import { useCreateToken } from "@/features/access/use-access";
import { ActionLines } from "@/components/action-lines";
import { ProblemAlert } from "@/components/problem-alert";
import { useMe } from "@/hooks/use-me";
import type { Schema } from "@/lib/api";
import { serverNow } from "@/lib/clock";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";

const LIVES = ["1", "7", "30", "90", "365"] as const;

type Scope = Schema<"Scope">;

/** Reading rights come with writing ones: asking for both would only make a longer list. */
const isCovered = (scope: Scope, chosen: Scope[]) =>
  scope.endsWith(":read") && chosen.includes(scope.replace(":read", ":write") as Scope);

/** What the caller may hand on: who may change something may also give the right to read it. */
export const grantable = (own: Scope[]): Scope[] => [
  ...new Set(own.flatMap((scope) => (scope.endsWith(":write") ? [scope.replace(":write", ":read") as Scope, scope] : [scope]))),
];

export function NewTokenDialog({ onClose }: { onClose: () => void }) {
  const t = useT();
  const me = useMe();
  const create = useCreateToken();
  const [name, setName] = useState("");
  const [days, setDays] = useState("30");
  const [chosen, setChosen] = useState<Scope[]>([]);
  const [isChecked, setChecked] = useState(false);
  const body = (): Schema<"TokenInRequest"> => ({
    name: name.trim(),
    scopes: chosen.filter((scope) => !isCovered(scope, chosen)),
    // A minute less than the longest life: the request takes its time, and a year is the most.
    expires_at: new Date(serverNow() + Number(days) * 86_400_000 - 60_000).toISOString(),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (name.trim() !== "" && chosen.length > 0) create.mutate(body());
  };
  return (
    <Modal opened onClose={onClose} title={t("access.new_token")} size="lg" closeButtonProps={{ "aria-label": t("common.close") }}>
      {create.data ? (
        <SecretOnce secret={create.data.secret} name={create.data.token.name} onDone={onClose} />
      ) : (
        <form onSubmit={submit} noValidate>
          <Stack gap="md">
            <TextInput
              label={t("access.token_name")}
              description={t("access.token_name_hint")}
              maxLength={120}
              dir="auto"
              data-autofocus
              value={name}
              error={isChecked && name.trim() === "" ? t("access.name_missing") : undefined}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Checkbox.Group
              label={t("access.may")}
              description={t("access.may_hint")}
              value={chosen}
              onChange={(next) => setChosen(next as Scope[])}
              error={isChecked && chosen.length === 0 ? t("access.scope_missing") : undefined}
            >
              <Stack gap="xs" mt="sm">
                {grantable(me.scopes).map((scope) => (
                  <Checkbox
                    key={scope}
                    value={scope}
                    disabled={isCovered(scope, chosen)}
                    label={
                      <>
                        {t(`access.scope_${scope.replace(":", "_") as "lease_read"}`)}{" "}
                        <Text span size="xs" c="dimmed" ff="monospace">
                          {scope}
                        </Text>
                      </>
                    }
                  />
                ))}
              </Stack>
            </Checkbox.Group>
            <Select
              label={t("access.lives")}
              allowDeselect={false}
              value={days}
              onChange={(value) => setDays(value ?? "30")}
              data={LIVES.map((value) => ({ value, label: t("access.days", { n: Number(value) }) }))}
            />
            {create.error && <ProblemAlert problem={create.error} />}
            <ActionLines
              vxpu={`vxpu api post /tokens -d '${JSON.stringify(body()).replaceAll("'", `'\\''`)}'`}
              curl={curlLine({ method: "POST", path: "/api/v1/tokens", body: body() })}
            />
            <Group justify="flex-end" gap="sm">
              <Button variant="default" onClick={onClose}>
                {t("common.cancel")}
              </Button>
              <Button type="submit" loading={create.isPending}>
                {t("access.create_token")}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}
