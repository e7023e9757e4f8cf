import { Select, SimpleGrid, TextInput } from "@mantine/core";
import { Panel } from "@/components/panel";
import { NAME_LIMIT, type ReserveSearch } from "@/features/reserve/search";
import { kindOf, type DeviceClass } from "@/features/reserve/shelf";
import type { Device } from "@/hooks/use-devices";
import { useProject } from "@/hooks/use-project";
import { useT } from "@/lib/i18n";
import { kindName } from "@/lib/device-kind";
import { formatMemory } from "@/lib/units";

type DetailsPanelProps = {
  search: ReserveSearch;
  classes: DeviceClass[];
  devices: Device[];
  project: string;
  onChange: (part: Partial<ReserveSearch>) => void;
};

const ANY = "any";
/** Modes that somebody may insist on; the last one is what every device gives. */
const INSIST = ["exclusive", "limiter-strict"] as const;

const deviceLabel = (device: Device): string =>
  `${device.model} (${formatMemory(device.capacity_mib)}) ${device.node_hostname || device.id.slice(-6)}`;

/** For whom, on what, under which name. */
export function DetailsPanel({ search, classes, devices, project, onChange }: DetailsPanelProps) {
  const t = useT();
  const { projects, setProject } = useProject();
  const kind = kindOf(search, classes);
  const eligible = devices.filter((device) => kind === null || device.kind === kind);
  const known = eligible.map((device) => ({ value: device.id, label: deviceLabel(device) }));
  const named = search.device !== undefined && !known.some((one) => one.value === search.device);
  return (
    <Panel title={t("reserve.details")}>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="md">
        <TextInput
          label={t("reserve.name")}
          description={t("reserve.name_why")}
          value={search.name ?? ""}
          onChange={(event) => onChange({ name: event.currentTarget.value || undefined })}
          maxLength={NAME_LIMIT}
          // Mantine keeps a plain `dir` for the frame around the field.
          attributes={{ input: { dir: "auto" } }}
          autoComplete="off"
        />
        <Select
          label={t("reserve.project")}
          description={t("reserve.project_why")}
          data={projects.map((one) => ({ value: one.id, label: one.name }))}
          value={project}
          allowDeselect={false}
          onChange={(id) => {
            if (id === null) return;
            setProject(id);
            onChange({ project: id });
          }}
        />
        <Select
          label={t("reserve.class")}
          data={[
            { value: ANY, label: t("reserve.class_any") },
            ...classes.map((one) => ({ value: one.kind, label: kindName(one.kind, t) })),
          ]}
          value={kind ?? ANY}
          allowDeselect={false}
          onChange={(value) =>
            onChange({ device_kind: value === ANY || value === null ? undefined : value, device: undefined, offer: undefined })
          }
        />
        <Select
          label={t("reserve.device")}
          placeholder={t("reserve.device_any")}
          data={named ? [{ value: search.device ?? "", label: search.device ?? "" }, ...known] : known}
          value={search.device ?? null}
          onChange={(id) => onChange({ device: id ?? undefined })}
          searchable
          clearable
          clearButtonProps={{ "aria-label": t("reserve.device_any") }}
          limit={50}
          nothingFoundMessage={t("common.nothing_matches")}
        />
        <Select
          label={t("reserve.isolation")}
          data={[
            { value: ANY, label: t("reserve.isolation_any") },
            { value: INSIST[1], label: t("reserve.isolation_strict") },
            { value: INSIST[0], label: t("reserve.isolation_exclusive") },
          ]}
          value={INSIST.find((mode) => mode === search.isolation_at_least) ?? ANY}
          allowDeselect={false}
          onChange={(value) => onChange({ isolation_at_least: value === ANY || value === null ? undefined : value })}
        />
      </SimpleGrid>
    </Panel>
  );
}
