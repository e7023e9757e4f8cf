import { Button, Checkbox, Text } from "@mantine/core";
import { useState } from "react";
import { Icon } from "@/components/icon";
import { Panel } from "@/components/panel";
import {
  isProportional, memoryFor, memoryStep, PRESETS, shareFor, spareOf, type Size,
} from "@/features/reserve/proportion";
import classes from "@/features/reserve/reserve.module.css";
import type { Preset } from "@/features/reserve/shelf";
import { SizeSlider } from "@/features/reserve/size-slider";
import { useT } from "@/lib/i18n";
import { formatMemory, formatShare } from "@/lib/units";

type SizePanelProps = {
  size: Size;
  /** Memory of the device that the sliders stand for. */
  deviceMib: number;
  /** The compute that can be sold of it. */
  devicePermille: number;
  presets: Preset[];
  chosenOffer: string | null;
  onSize: (size: Size) => void;
  onOffer: (offer: string) => void;
};

const STEP_PERMILLE = 25;

export function SizePanel({ size, deviceMib, devicePermille, presets, chosenOffer, onSize, onOffer }: SizePanelProps) {
  const t = useT();
  const [wantsLink, setWantsLink] = useState<boolean | null>(null);
  // A link with a size of its own proportion must not be bent by the first move.
  const isLinked = wantsLink ?? (isProportional(size, deviceMib) || isBounded(size, deviceMib, devicePermille));
  const link = (next: boolean) => {
    setWantsLink(next);
    const spare = next ? spareOf(size, deviceMib, devicePermille) : null;
    if (spare) onSize({ ...size, ...partOf(spare) });
  };
  const spare = size.memory_mib > deviceMib ? null : spareOf(size, deviceMib, devicePermille);
  const eighths = PRESETS.filter(({ permille }) => permille <= devicePermille);
  return (
    <Panel
      title={t("reserve.size")}
      aside={
        <Checkbox
          size="xs"
          label={t("reserve.linked")}
          checked={isLinked}
          onChange={(event) => link(event.currentTarget.checked)}
        />
      }
    >
      <div className={classes.presets} role="group" aria-label={t("reserve.presets")}>
        {presets.map((preset) => {
          const isChosen = preset.offer ? preset.offer.id === chosenOffer : sameSize(preset.size, size);
          return (
            <Button
              key={preset.offer?.id ?? preset.label}
              size="xs"
              variant={isChosen ? "light" : "default"}
              aria-pressed={isChosen}
              onClick={() => (preset.offer ? onOffer(preset.offer.id) : onSize(preset.size))}
            >
              {preset.label}
            </Button>
          );
        })}
        <Text size="xs" c="dimmed">
          {t("reserve.of_device", { memory: formatMemory(deviceMib) })}
        </Text>
      </div>
      <SizeSlider
        name={t("reserve.memory")}
        icon="memory"
        value={size.memory_mib}
        max={deviceMib}
        step={memoryStep(deviceMib)}
        stops={PRESETS.map(({ label, permille }) => ({ label, value: memoryFor(permille, deviceMib) }))}
        format={formatMemory}
        input={{ label: t("reserve.memory_in"), unit: "GiB", factor: 1024, decimals: 3, step: 0.25 }}
        onChange={(memory_mib) =>
          onSize({ memory_mib, share_permille: isLinked ? Math.min(devicePermille, shareFor(memory_mib, deviceMib)) : size.share_permille })
        }
      />
      <SizeSlider
        name={t("reserve.compute")}
        icon="compute"
        value={size.share_permille}
        max={devicePermille}
        step={STEP_PERMILLE}
        stops={eighths.map(({ label, permille }) => ({ label, value: permille }))}
        format={formatShare}
        input={{ label: t("reserve.compute_in"), unit: "%", factor: 10, decimals: 1, step: 2.5 }}
        onChange={(share_permille) =>
          onSize({ share_permille, memory_mib: isLinked ? memoryFor(share_permille, deviceMib) : size.memory_mib })
        }
      />
      {spare && (
        <div className={classes.spare}>
          <Icon name="info" size={14} />
          <Text size="xs">
            {spare.part === "compute"
              ? t("reserve.spare_compute", { share: formatShare(spare.share_permille) })
              : t("reserve.spare_memory", { memory: formatMemory(spare.memory_mib) })}
          </Text>
          <Button size="compact-xs" variant="default" onClick={() => onSize({ ...size, ...partOf(spare) })}>
            {t("reserve.spare_take")}
          </Button>
        </div>
      )}
    </Panel>
  );
}

const sameSize = (a: Size, b: Size) => a.memory_mib === b.memory_mib && a.share_permille === b.share_permille;

/** All of the compute that is sold of the device: it cannot follow the memory any further. */
const isBounded = ({ memory_mib, share_permille }: Size, deviceMib: number, devicePermille: number): boolean =>
  share_permille === devicePermille && shareFor(memory_mib, deviceMib) > devicePermille;

const partOf = (spare: NonNullable<ReturnType<typeof spareOf>>): Partial<Size> =>
  spare.part === "compute" ? { share_permille: spare.share_permille } : { memory_mib: spare.memory_mib };
