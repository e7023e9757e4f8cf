import { Button, Group, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useId } from "react";
import { useT, type MessageKey } from "@/lib/i18n";
import { formatInstant } from "@/lib/time-format";
import { offsetText } from "@/lib/time";
import { typedOf } from "./form-text";
import type { Typed, When } from "./when";

type InstantFieldProps = {
  label: string;
  zone: string;
  value: Typed;
  when: When;
  trouble?: MessageKey | null;
  onChange: (value: Typed) => void;
};

/** A date and a time by the zone's clock. Where clocks change it says so, and asks which time is meant. */
export function InstantField({ label, zone, value, when, trouble, onChange }: InstantFieldProps) {
  const t = useT();
  const choiceId = useId();
  const error =
    when.kind === "gap"
      ? t("calendar.gap", { zone, at: formatInstant(when.hint, zone, "time") })
      : when.kind === "unreadable"
        ? t("calendar.unreadable")
        : when.kind === "twice"
          ? t("calendar.twice", { zone })
          : trouble
            ? t(trouble)
            : undefined;
  return (
    <Stack gap={4}>
      <TextInput
        type="datetime-local"
        step={900}
        label={label}
        value={value.local}
        error={error}
        onChange={(event) => onChange({ local: event.currentTarget.value.slice(0, 16), which: null })}
      />
      {when.kind === "gap" && (
        <Group>
          <Button size="xs" variant="default" onClick={() => onChange(typedOf(when.hint, zone))}>
            {t("calendar.gap_take", { at: formatInstant(when.hint, zone, "time") })}
          </Button>
        </Group>
      )}
      {(when.kind === "twice" || when.kind === "both") && (
        <>
          <Text size="xs" id={choiceId}>
            {t("calendar.which")}
          </Text>
          <SegmentedControl
            size="xs"
            aria-labelledby={choiceId}
            value={value.which ?? ""}
            onChange={(which) => onChange({ ...value, which: which === "later" ? "later" : "earlier" })}
            data={[
              { value: "earlier", label: t("calendar.first_time", { offset: offsetText(when.earlier, zone) }) },
              { value: "later", label: t("calendar.second_time", { offset: offsetText(when.later, zone) }) },
            ]}
          />
        </>
      )}
    </Stack>
  );
}
