import { Group, NumberInput, SegmentedControl } from "@mantine/core";
import { useT } from "@/lib/i18n";
import { formatMemory, formatShare } from "@/lib/units";
import type { Size } from "./types";

type SizePickerProps = {
  size: Size;
  /** A device to take presets of; none yet while the fleet is unknown. */
  capacity: { capacity_mib: number; capacity_permille: number } | undefined;
  onChange: (size: Size) => void;
};

const EIGHTHS = [1, 2, 4, 8];
const NAMES: Record<number, string> = { 1: "1/8", 2: "1/4", 4: "1/2", 8: "1" };

const part = (capacity: NonNullable<SizePickerProps["capacity"]>, eighths: number): Size => ({
  memory_mib: Math.floor((capacity.capacity_mib * eighths) / 8),
  share_permille: Math.floor((capacity.capacity_permille * eighths) / 8),
});

const isSame = (a: Size, b: Size) => a.memory_mib === b.memory_mib && a.share_permille === b.share_permille;

/** How much of a device: a usual part of one, or any memory and compute. */
export function SizePicker({ size, capacity, onChange }: SizePickerProps) {
  const t = useT();
  const preset = capacity ? EIGHTHS.find((eighths) => isSame(part(capacity, eighths), size)) : undefined;
  return (
    <Group gap="sm" align="flex-end" role="group" aria-label={t("calendar.size")}>
      {capacity && (
        <SegmentedControl
          size="xs"
          aria-label={t("calendar.preset")}
          value={preset === undefined ? "" : String(preset)}
          onChange={(value) => onChange(part(capacity, Number(value)))}
          data={EIGHTHS.map((eighths) => ({ value: String(eighths), label: NAMES[eighths] ?? "" }))}
        />
      )}
      <NumberInput
        size="xs"
        w={104}
        label={t("calendar.memory")}
        suffix=" GiB"
        min={0.125}
        step={1}
        decimalScale={3}
        value={size.memory_mib / 1024}
        aria-description={formatMemory(size.memory_mib)}
        onChange={(value) => {
          const memory_mib = Math.round(Number(value) * 1024);
          if (memory_mib >= 1) onChange({ ...size, memory_mib });
        }}
      />
      <NumberInput
        size="xs"
        w={88}
        label={t("calendar.compute")}
        suffix=" %"
        min={0.1}
        max={100}
        step={5}
        decimalScale={1}
        clampBehavior="strict"
        value={size.share_permille / 10}
        aria-description={formatShare(size.share_permille)}
        onChange={(value) => {
          const share_permille = Math.round(Number(value) * 10);
          if (share_permille >= 1 && share_permille <= 1000) onChange({ ...size, share_permille });
        }}
      />
    </Group>
  );
}
