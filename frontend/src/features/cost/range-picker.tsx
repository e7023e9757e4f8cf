import { NativeSelect, TextInput } from "@mantine/core";
import { RANGES, type CostSearch, type Range } from "@/features/cost/cost-search";
import type { Period } from "@/features/cost/period";
import { useT } from "@/lib/i18n";

type RangePickerProps = { search: CostSearch; period: Period; onChange: (search: Partial<CostSearch>) => void };

/** Which days: a named range, or the first and the last day. */
export function RangePicker({ search, period, onChange }: RangePickerProps) {
  const t = useT();
  const range = search.range ?? "month";
  const isWrong = range === "custom" && search.from !== undefined && search.to !== undefined && search.from > search.to;
  const choose = (value: Range) =>
    onChange(
      value === "custom"
        ? { range: value, from: period.firstDay, to: period.lastDay }
        : { range: value === "month" ? undefined : value, from: undefined, to: undefined },
    );
  return (
    <>
      <NativeSelect
        size="sm"
        aria-label={t("cost.range")}
        value={range}
        onChange={(event) => choose(event.currentTarget.value as Range)}
        data={RANGES.map((one) => ({ value: one, label: t(`cost.range_${one}`) }))}
      />
      {range === "custom" && (
        <>
          <TextInput
            type="date"
            aria-label={t("cost.first_day")}
            value={search.from ?? period.firstDay}
            error={isWrong}
            onChange={(event) => onChange({ from: event.currentTarget.value || undefined })}
          />
          <TextInput
            type="date"
            aria-label={t("cost.last_day")}
            value={search.to ?? period.lastDay}
            error={isWrong}
            onChange={(event) => onChange({ to: event.currentTarget.value || undefined })}
          />
          {isWrong && <span role="alert">{t("cost.wrong_range")}</span>}
        </>
      )}
    </>
  );
}
