import { Button, Group, Stack } from "@mantine/core";
import { memo } from "react";
import { useT } from "@/lib/i18n";
import { formatDuration } from "@/lib/units";
import type { Chosen } from "./drawing";
import { meaningOf, textOf, typedOf, type FormText } from "./form-text";
import { InstantField } from "./instant-field";
import { DeviceSelect } from "./device-select";
import { HOUR_MS } from "./range";
import type { Item } from "./types";
import { useLatest } from "./use-latest";
import { instantOf } from "./when";

/** What the form holds, and what it means if it means something. */
export type Edit = { edited: FormText; chosen: Chosen | null };

type PeriodFormProps = {
  items: Item[];
  text: FormText;
  /** The quarter of an hour that is running: nothing starts before. */
  earliest: number;
  /** Stays the same one. */
  onEdit: (edit: Edit) => void;
};

const LENGTHS_H = [1, 2, 4, 8, 24];

/** What to reserve, typed: the same as drawing it. */
export const PeriodForm = memo(function PeriodForm({ items, text, earliest, onEdit }: PeriodFormProps) {
  const t = useT();
  const { start, end, trouble } = meaningOf(text, earliest);
  const from = instantOf(start);
  const edit = (change: Partial<FormText>) => {
    const edited = { ...text, ...change };
    onEdit({ edited, chosen: meaningOf(edited, earliest).chosen });
  };
  const setDevice = useLatest((device: string | null) => edit({ device }));
  const lasting = (hours: number) => {
    const begin = from ?? earliest;
    edit({ start: typedOf(begin, text.zone), end: typedOf(begin + hours * HOUR_MS, text.zone) });
  };
  return (
    <Stack gap="sm">
      <DeviceSelect items={items} value={text.device} onChange={setDevice} />
      <InstantField
        label={t("calendar.start")}
        zone={text.zone}
        value={text.start}
        when={start}
        trouble={trouble === "past" ? "calendar.is_past" : null}
        onChange={(value) => edit({ start: value })}
      />
      <InstantField
        label={t("calendar.end")}
        zone={text.zone}
        value={text.end}
        when={end}
        trouble={trouble === "order" ? "calendar.wrong_order" : null}
        onChange={(value) => edit({ end: value })}
      />
      <Group gap={4} role="group" aria-label={t("calendar.lasting")}>
        {LENGTHS_H.map((hours) => (
          <Button key={hours} size="compact-xs" variant="default" onClick={() => lasting(hours)}>
            {formatDuration(hours * 3600)}
          </Button>
        ))}
      </Group>
    </Stack>
  );
});

/** The form shows what somebody types, else what is chosen; a text typed by another zone's clock is void. */
export const shownText = (edited: FormText | null, chosen: Chosen | null, zone: string): FormText =>
  edited && edited.zone === zone ? edited : textOf(chosen, zone);
