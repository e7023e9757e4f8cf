import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { FleetMap } from "@/features/fleet/fleet-map";
import { FleetTable } from "@/features/fleet/fleet-table";
import { Legend } from "@/features/fleet/legend";
import { devicesOf, METRICS, rangeOf, type Fleet, type Metric } from "@/features/fleet/model";
import { SelectionBar } from "@/features/fleet/selection-bar";
import { FleetTotals } from "@/features/fleet/totals";
import { useFleet, useFleetNews } from "@/features/fleet/use-fleet";
import { ActionLines } from "@/components/action-lines";
import { EmptyState } from "@/components/empty-state";
import { Icon } from "@/components/icon";
import { LiveDot } from "@/components/live-dot";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useMe } from "@/hooks/use-me";
import { useNow } from "@/hooks/use-now";
import { useSearchText } from "@/hooks/use-search-text";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import classes from "@/features/fleet/fleet.module.css";

const NONE: ReadonlySet<number> = new Set();

function toggled(chosen: ReadonlySet<number>, device: number): ReadonlySet<number> {
  const next = new Set(chosen);
  if (!next.delete(device)) next.add(device);
  return next;
}

function MapView({ fleet }: { fleet: Fleet }) {
  const t = useT();
  const { is_operator } = useMe();
  const [asked, setMetric] = useSearchText("metric");
  const [filter, setFilter] = useSearchText("q");
  const [chosen, setChosen] = useState(NONE);
  const metric: Metric = METRICS.find((name) => name === asked) ?? "use";
  return (
    <>
      <div className={classes.tools}>
        <SegmentedControl
          size="xs"
          aria-label={t("fleet.metric_label")}
          value={metric}
          onChange={setMetric}
          data={METRICS.map((name) => ({ value: name, label: t(`fleet.metric.${name}`) }))}
        />
        <TextInput
          size="xs"
          w={240}
          aria-label={t("fleet.find")}
          placeholder={t("fleet.find")}
          leftSection={<Icon name="search" size={14} />}
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
      </div>
      {chosen.size > 0 && <SelectionBar fleet={fleet} chosen={chosen} onClear={() => setChosen(NONE)} />}
      <FleetMap
        fleet={fleet}
        metric={metric}
        filter={filter.trim()}
        chosen={chosen}
        onChoose={is_operator ? (device) => setChosen((before) => toggled(before, device)) : undefined}
      />
      <Legend metric={metric} range={rangeOf(fleet, metric)} />
    </>
  );
}

function NoFleet() {
  const t = useT();
  const { is_operator } = useMe();
  return (
    <EmptyState
      title={t("fleet.empty_title")}
      text={t(is_operator ? "fleet.empty_operator" : "fleet.empty_text")}
      action={
        is_operator && (
          <Button leftSection={<Icon name="plus" />} renderRoot={(props) => <Link to="/nodes" search={{}} {...props} />}>
            {t("nodes.add")}
          </Button>
        )
      }
    />
  );
}

function Shown({ fleet, view }: { fleet: Fleet; view: string }) {
  const now = useNow(5_000);
  const devices = useMemo(() => devicesOf(fleet, now), [fleet, now]);
  return (
    <>
      <FleetTotals fleet={fleet} devices={devices} />
      {view === "table" ? <FleetTable devices={devices} /> : <MapView fleet={fleet} />}
    </>
  );
}

/** All devices at once: as a map, or as its table. */
export function FleetPage() {
  const t = useT();
  const isNarrow = useMediaQuery("(max-width: 640px)", false, { getInitialValueInEffect: false }) ?? false;
  const [asked, setView] = useSearchText("view");
  const view = asked || (isNarrow ? "table" : "map");
  const fleet = useFleet();
  const status = useFleetNews();
  const choice = (
    <SegmentedControl
      size="xs"
      aria-label={t("fleet.view_label")}
      value={view}
      onChange={setView}
      data={[
        { value: "map", label: t("fleet.view_map") },
        { value: "table", label: t("fleet.view_table") },
      ]}
    />
  );
  return (
    <Page title={t("fleet.title")} aside={status !== "live" && <LiveDot status={status} />} primary={choice}>
      {fleet.error && <ProblemAlert problem={fleet.error} retry={() => void fleet.refetch()} />}
      {fleet.isPending && <SkeletonRows rows={12} />}
      {fleet.data && (fleet.data.devices.id.length === 0 ? <NoFleet /> : <Shown fleet={fleet.data} view={view} />)}
      <ActionLines vxpu="vxpu device list" curl={curlLine({ method: "GET", path: "/api/v1/fleet" })} />
    </Page>
  );
}
