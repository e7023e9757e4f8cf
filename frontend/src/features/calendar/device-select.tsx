import { Select } from "@mantine/core";
import { memo, useMemo } from "react";
import { useT } from "@/lib/i18n";
import type { Item } from "./types";
import { tailOf } from "./words";

type DeviceSelectProps = { items: Item[]; value: string | null; onChange: (device: string | null) => void };

/** A list of a thousand is searched, not scrolled. */
const SHOWN = 50;

/** One device, or any that fits. Drawn again only when the fleet or the choice is another. */
export const DeviceSelect = memo(function DeviceSelect({ items, value, onChange }: DeviceSelectProps) {
  const t = useT();
  const data = useMemo(
    () => [
      { value: "", label: t("calendar.any_device") },
      ...items.map((item) => ({ value: item.device, label: `${item.model} ${tailOf(item.device)} · ${item.hostname}` })),
    ],
    [items, t],
  );
  return (
    <Select
      label={t("calendar.device")}
      value={value ?? ""}
      data={data}
      searchable
      limit={SHOWN}
      allowDeselect={false}
      nothingFoundMessage={t("calendar.no_such_device")}
      onChange={(chosen) => onChange(chosen || null)}
    />
  );
});
