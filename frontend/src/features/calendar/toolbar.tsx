import { ActionIcon, Button, Checkbox, Group, SegmentedControl, Select, TextInput } from "@mantine/core";
import { Icon } from "@/components/icon";
import { useZone } from "@/hooks/use-zone";
import { serverNow } from "@/lib/clock";
import { useT } from "@/lib/i18n";
import { dateOf, isDate, turn, VIEWS, type View } from "./range";
import type { CalendarParams } from "./use-calendar-params";

type DateBarProps = { params: CalendarParams; change: (change: { date?: string; view?: View }) => void; withViews?: boolean };

/** Which days are on screen. */
export function DateBar({ params, change, withViews = true }: DateBarProps) {
  const t = useT();
  const { zone } = useZone();
  const step = (direction: 1 | -1) => change({ date: turn(params.view, params.date, direction) });
  return (
    <Group gap={4} wrap="nowrap">
      <ActionIcon variant="default" size={30} aria-label={t("calendar.earlier")} onClick={() => step(-1)}>
        <Icon name="left" />
      </ActionIcon>
      <ActionIcon variant="default" size={30} aria-label={t("calendar.later")} onClick={() => step(1)}>
        <Icon name="right" />
      </ActionIcon>
      <Button size="xs" variant="default" onClick={() => change({ date: dateOf(serverNow(), zone) })}>
        {t("calendar.today")}
      </Button>
      <TextInput
        type="date"
        size="xs"
        aria-label={t("calendar.date")}
        value={params.date}
        onChange={(event) => isDate(event.currentTarget.value) && change({ date: event.currentTarget.value })}
      />
      {withViews && (
        <SegmentedControl
          size="xs"
          aria-label={t("calendar.view")}
          value={params.view}
          onChange={(value) => change({ view: VIEWS.find((view) => view === value) ?? "day" })}
          data={VIEWS.map((view) => ({ value: view, label: t(`calendar.view_${view}`) }))}
        />
      )}
    </Group>
  );
}

type FilterBarProps = {
  params: CalendarParams;
  models: string[];
  racks: string[];
  change: (change: { model?: string; rack?: string; fitsOnly?: boolean }) => void;
};

export function FilterBar({ params, models, racks, change }: FilterBarProps) {
  const t = useT();
  return (
    <Group gap="sm">
      <Select
        size="xs"
        w={184}
        aria-label={t("calendar.class")}
        value={params.model}
        data={[{ value: "", label: t("calendar.all_classes") }, ...models]}
        allowDeselect={false}
        searchable={models.length > 10}
        onChange={(model) => change({ model: model ?? "" })}
      />
      <Select
        size="xs"
        w={128}
        aria-label={t("calendar.rack")}
        value={params.rack}
        data={[{ value: "", label: t("calendar.all_racks") }, ...racks]}
        allowDeselect={false}
        searchable={racks.length > 10}
        onChange={(rack) => change({ rack: rack ?? "" })}
      />
      <Checkbox
        size="xs"
        label={t("calendar.fits_only")}
        checked={params.fitsOnly}
        onChange={(event) => change({ fitsOnly: event.currentTarget.checked })}
      />
    </Group>
  );
}
