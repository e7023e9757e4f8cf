import { Button } from "@mantine/core";
import { useState } from "react";
import { DrainNodes } from "@/components/drain-nodes";
import { CordonNodes } from "@/components/cordon-nodes";
import type { Fleet, FleetNode } from "@/features/fleet/model";
import { useT } from "@/lib/i18n";
import classes from "@/features/fleet/fleet.module.css";

type SelectionBarProps = { fleet: Fleet; chosen: ReadonlySet<number>; onClear: () => void };

/** The nodes of the chosen devices: cordons and drains are of whole nodes. */
export function nodesOf(fleet: Fleet, chosen: ReadonlySet<number>): FleetNode[] {
  const places = new Set([...chosen].map((device) => fleet.devices.node[device] ?? -1));
  return [...places].sort((a, b) => a - b).flatMap((place) => fleet.nodes[place] ?? []);
}

/** What an operator may do with what is chosen. */
export function SelectionBar({ fleet, chosen, onClear }: SelectionBarProps) {
  const t = useT();
  const [asked, setAsked] = useState<"cordon" | "drain" | null>(null);
  const nodes = nodesOf(fleet, chosen);
  const close = () => setAsked(null);
  return (
    <div className={classes.selection} role="region" aria-label={t("fleet.selection")}>
      <span role="status">{t("fleet.selected", { devices: t("fleet.devices", { n: chosen.size }), nodes: t("fleet.nodes", { n: nodes.length }) })}</span>
      <Button size="xs" variant="default" onClick={() => setAsked("cordon")}>
        {t("nodes.cordon")}
      </Button>
      <Button size="xs" variant="default" onClick={() => setAsked("drain")}>
        {t("nodes.drain")}
      </Button>
      <Button size="xs" variant="subtle" onClick={onClear}>
        {t("fleet.clear_selection")}
      </Button>
      {asked === "cordon" && <CordonNodes nodes={nodes} onClose={close} />}
      {asked === "drain" && <DrainNodes nodes={nodes} onClose={close} />}
    </div>
  );
}
