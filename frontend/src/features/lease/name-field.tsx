import { ActionIcon, Button, Group, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { Icon } from "@/components/icon";
import { ProblemAlert } from "@/components/problem-alert";
import { useRename } from "@/hooks/use-reservation-actions";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { nameOf } from "@/lib/reservation-words";
import classes from "@/features/lease/lease-page.module.css";

const LONGEST = 200;

/** Who presses the pencil wants to write. */
const focus = (field: HTMLInputElement | null) => field?.focus();

/** The slice's name, which can be written anew where it stands. Any script, any direction. */
export function NameField({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const [text, setText] = useState<string | null>(null);
  const rename = useRename(reservation.id);
  // What was typed is shown until the server has said what the name is now.
  const shown = rename.isPending && rename.variables.name.trim() ? rename.variables.name : nameOf(reservation);
  if (text === null) {
    return (
      <Group gap={4} wrap="nowrap" align="center" className={classes.naming}>
        <h1 className={classes.title} dir="auto">
          {shown}
        </h1>
        <ActionIcon variant="subtle" color="gray" aria-label={t("lease.rename")} onClick={() => setText(reservation.name)}>
          <Icon name="edit" />
        </ActionIcon>
      </Group>
    );
  }
  const save = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate({ name: text.trim() }, { onSuccess: () => setText(null) });
  };
  const leave = () => {
    rename.reset();
    setText(null);
  };
  return (
    <form onSubmit={save} className={classes.naming}>
      <Group gap="sm" align="flex-end">
        <TextInput
          label={t("lease.name_label")}
          description={t("lease.name_hint")}
          value={text}
          maxLength={LONGEST}
          dir="auto"
          ref={focus}
          style={{ flex: "1 1 240px" }}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && leave()}
        />
        <Button type="submit" variant="default" loading={rename.isPending}>
          {t("common.save")}
        </Button>
        <Button variant="subtle" color="gray" onClick={leave}>
          {t("common.cancel")}
        </Button>
      </Group>
      {rename.error && <ProblemAlert problem={rename.error} />}
    </form>
  );
}
