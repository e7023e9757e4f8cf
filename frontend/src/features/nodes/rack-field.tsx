import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Node } from "@/hooks/use-nodes";
import { api, dataOf } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { toProblem } from "@/lib/problem";
import { keys } from "@/lib/query-keys";
import classes from "@/features/nodes/nodes.module.css";

/** Where the machine stands, changed in place. */
export function RackField({ node }: { node: Node }) {
  const t = useT();
  const client = useQueryClient();
  const [rack, setRack] = useState<string | null>(null);
  const save = useMutation({
    mutationFn: (value: string) =>
      dataOf(api.PATCH("/api/v1/nodes/{node}", { params: { path: { node: node.id } }, body: { rack: value } })),
    onSuccess: (answer) => {
      client.setQueryData(keys.node(node.id), answer);
      void client.invalidateQueries({ queryKey: keys.fleet });
      setRack(null);
    },
  });
  if (rack === null) {
    return (
      <span className={classes.inline}>
        {node.rack || t("nodes.no_rack")}
        <Button size="compact-xs" variant="subtle" onClick={() => setRack(node.rack)}>
          {t("nodes.change_rack")}
        </Button>
      </span>
    );
  }
  return (
    <form
      className={classes.inline}
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(rack.trim());
      }}
    >
      <TextInput
        size="xs"
        aria-label={t("nodes.rack")}
        maxLength={64}
        value={rack}
        error={save.error ? toProblem(save.error).detail || toProblem(save.error).title : undefined}
        onChange={(event) => setRack(event.currentTarget.value)}
        data-autofocus
      />
      <Button size="xs" type="submit" loading={save.isPending}>
        {t("common.save")}
      </Button>
      <Button size="xs" variant="default" onClick={() => setRack(null)}>
        {t("common.cancel")}
      </Button>
    </form>
  );
}
