import { Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { SecretOnce } from "@/features/access/secret-once";
import { useAddMember } from "@/features/access/use-access";
import { ProblemAlert } from "@/components/problem-alert";
import { useProject } from "@/hooks/use-project";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { toProblem } from "@/lib/problem";

type Role = Schema<"Role">;
const ROLES: Role[] = ["member", "tenant_admin", "finance"];

/** Gives somebody a role. Who is new here gets a first token, to be handed over. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const t = useT();
  const { project: current, projects } = useProject();
  const add = useAddMember();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const [project, setProject] = useState(current?.id ?? "");
  const [isChecked, setChecked] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (email.trim() === "" || name.trim() === "") return;
    add.mutate({ email: email.trim(), name: name.trim(), role, project: role === "member" ? project : null });
  };
  const missing = (value: string) => (isChecked && value.trim() === "" ? t("access.fill_in") : undefined);
  const problem = add.error ? toProblem(add.error) : null;
  const done = add.data;
  return (
    <Modal opened onClose={onClose} title={t("access.add_member")} closeButtonProps={{ "aria-label": t("common.close") }}>
      {done?.first_token ? (
        <SecretOnce secret={done.first_token.secret} name={done.user.name} onDone={onClose} />
      ) : done ? (
        <Stack gap="md">
          <Text>{t("access.added", { name: done.user.name })}</Text>
          <Group justify="flex-end">
            <Button onClick={onClose}>{t("common.close")}</Button>
          </Group>
        </Stack>
      ) : (
        <form onSubmit={submit} noValidate>
          <Stack gap="md">
            <TextInput
              type="email"
              label={t("access.email")}
              data-autofocus
              value={email}
              error={missing(email) ?? problem?.field("email")}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <TextInput
              label={t("access.name")}
              maxLength={120}
              dir="auto"
              value={name}
              error={missing(name) ?? problem?.field("name")}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <NativeSelect
              label={t("access.role")}
              description={t(`access.role_${role}_why`)}
              value={role}
              onChange={(event) => setRole(event.currentTarget.value as Role)}
              data={ROLES.map((value) => ({ value, label: t(`access.role_${value}`) }))}
            />
            {role === "member" && (
              <NativeSelect
                label={t("shell.project")}
                value={project}
                onChange={(event) => setProject(event.currentTarget.value)}
                data={projects.map((one) => ({ value: one.id, label: one.name }))}
              />
            )}
            {problem && <ProblemAlert problem={problem} />}
            <Group justify="flex-end" gap="sm">
              <Button variant="default" onClick={onClose}>
                {t("common.cancel")}
              </Button>
              <Button type="submit" loading={add.isPending}>
                {t("access.add")}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}
