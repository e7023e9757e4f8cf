import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { wire } from "@/features/reserve/period";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { formatInstant } from "@/lib/time-format";
import { offsetText, parseLocal, toInstant, toLocalText, type Resolved } from "@/lib/time";

type TimeFieldProps = {
  label: string;
  /** An instant. */
  value: string;
  onChange: (at: string) => void;
  error?: string;
  description?: string;
};

const means = (text: string, zone: string): Resolved | null => (parseLocal(text) ? toInstant(text, zone) : null);

const isOneOf = (found: Resolved | null, at: number): boolean =>
  found !== null &&
  ((found.kind === "one" && found.at.getTime() === at) ||
    (found.kind === "overlap" && (found.earlier.getTime() === at || found.later.getTime() === at)));

/** A wall clock in the viewer's zone for an instant. A time that clocks skip, or show twice, is asked back about. */
export function TimeField({ label, value, onChange, error, description }: TimeFieldProps) {
  const t = useT();
  const { zone } = useZone();
  const at = Date.parse(value);
  const [text, setText] = useState(() => toLocalText(value, zone));
  const [seen, setSeen] = useState({ at, zone });
  if (seen.at !== at || seen.zone !== zone) {
    setSeen({ at, zone });
    if (!isOneOf(means(text, zone), at)) setText(toLocalText(value, zone));
  }
  const found = means(text, zone);
  const change = (next: string) => {
    setText(next);
    const meant = means(next, zone);
    if (meant?.kind === "one") onChange(wire(meant.at.getTime()));
    if (meant?.kind === "overlap") onChange(wire(meant.earlier.getTime()));
  };
  const wrong = found === null ? t("reserve.time_unreadable") : found.kind === "gap" ? t("reserve.time_gap") : error;
  return (
    <Stack gap={4}>
      <TextInput
        type="datetime-local"
        label={label}
        description={description ?? `${zone}, ${offsetText(at, zone)}`}
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
        error={wrong}
        maw={260}
      />
      {found?.kind === "gap" && (
        <Button variant="default" size="xs" w="fit-content" onClick={() => change(toLocalText(found.shifted, zone))}>
          {t("reserve.time_use", { time: formatInstant(found.shifted, zone, "time") })}
        </Button>
      )}
      {found?.kind === "overlap" && (
        <Group gap={8}>
          <Text size="xs">{t("reserve.time_twice")}</Text>
          {[found.earlier, found.later].map((one) => (
            <Button
              key={one.getTime()}
              size="xs"
              variant={one.getTime() === at ? "light" : "default"}
              aria-pressed={one.getTime() === at}
              onClick={() => onChange(wire(one.getTime()))}
            >
              {formatInstant(one, zone, "time")} {offsetText(one, zone)}
            </Button>
          ))}
        </Group>
      )}
    </Stack>
  );
}
