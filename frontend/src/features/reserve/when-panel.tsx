import { Button, NumberInput, SegmentedControl, Stack, Text } from "@mantine/core";
import { Panel } from "@/components/panel";
import { DEFAULT_LENGTH_S, endOf, endSearch, lengthOf, LENGTHS_S, nextQuarter, periodOf, type End } from "@/features/reserve/period";
import classes from "@/features/reserve/reserve.module.css";
import { LONGEST_S, type ReserveSearch } from "@/features/reserve/search";
import { TimeField } from "@/features/reserve/time-field";
import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { periodText } from "@/features/reserve/period-text";
import { formatInstant } from "@/lib/time-format";
import { formatDuration } from "@/lib/units";

type WhenPanelProps = {
  search: ReserveSearch;
  /** Why the server cannot take the start or the end. */
  startError?: string;
  endError?: string;
  onChange: (part: Partial<ReserveSearch>) => void;
};

export function WhenPanel({ search, startError, endError, onChange }: WhenPanelProps) {
  const t = useT();
  const { zone } = useZone();
  const now = useNow(10_000);
  const end = endOf(search);
  const { starts_at, ends_at } = periodOf(search, now);
  const seconds = lengthOf(search, now);
  const isPast = starts_at !== null && Date.parse(starts_at) < now - 60_000;
  const isBackwards = seconds !== null && seconds <= 0;
  const choose = (next: End) => onChange(endSearch(next));
  return (
    <Panel title={t("reserve.when")}>
      <Stack gap={12}>
        <div className={classes.field}>
          <span className={classes.fieldLabel}>{t("reserve.start")}</span>
          <SegmentedControl
            size="xs"
            aria-label={t("reserve.start")}
            value={starts_at === null ? "now" : "at"}
            onChange={(value) => onChange({ starts_at: value === "now" ? undefined : nextQuarter(now) })}
            data={[
              { value: "now", label: t("reserve.start_now") },
              { value: "at", label: t("reserve.start_at") },
            ]}
          />
        </div>
        {starts_at !== null && (
          <TimeField
            label={t("reserve.start_time")}
            value={starts_at}
            onChange={(at) => onChange({ starts_at: at })}
            error={isPast ? t("reserve.start_past") : startError}
          />
        )}
        <div className={classes.field}>
          <span className={classes.fieldLabel}>{t("reserve.length")}</span>
          <div className={classes.presets} role="group" aria-label={t("reserve.length")}>
            {LENGTHS_S.map((length) => {
              const isChosen = end.kind === "for" && end.seconds === length;
              return (
                <Button
                  key={length}
                  size="xs"
                  variant={isChosen ? "light" : "default"}
                  aria-pressed={isChosen}
                  onClick={() => choose({ kind: "for", seconds: length })}
                >
                  {formatDuration(length)}
                </Button>
              );
            })}
            <Button
              size="xs"
              variant={end.kind === "until" ? "light" : "default"}
              aria-pressed={end.kind === "until"}
              onClick={() => choose({ kind: "until", at: ends_at ?? nextQuarter(now + DEFAULT_LENGTH_S * 1000) })}
            >
              {t("reserve.until")}
            </Button>
            <Button
              size="xs"
              variant={end.kind === "open" ? "light" : "default"}
              aria-pressed={end.kind === "open"}
              onClick={() => choose({ kind: "open" })}
            >
              {t("reserve.open_ended")}
            </Button>
            {end.kind === "for" && (
              <NumberInput
                size="xs"
                w={88}
                aria-label={t("reserve.hours")}
                value={Number((end.seconds / 3600).toFixed(2))}
                onChange={(typed) => {
                  const next = typeof typed === "number" ? Math.round(typed * 60) * 60 : 0;
                  if (next > 0 && next <= LONGEST_S && next !== end.seconds) choose({ kind: "for", seconds: next });
                }}
                min={0}
                step={0.25}
                decimalScale={2}
                suffix={` ${formatDuration(3600).replace("1\u00a0", "")}`}
                allowNegative={false}
                clampBehavior="none"
                hideControls
              />
            )}
          </div>
        </div>
        {end.kind === "until" && (
          <TimeField
            label={t("reserve.end_time")}
            value={end.at}
            onChange={(at) => choose({ kind: "until", at })}
            error={isBackwards ? t("reserve.end_before_start") : endError}
          />
        )}
        <Text size="xs" c="dimmed">
          {ends_at === null
            ? t("reserve.open_why")
            : starts_at === null
              ? t("reserve.until_end", { until: formatInstant(ends_at, zone), zone })
              : t("reserve.period", { period: periodText(starts_at, ends_at, zone), zone })}
        </Text>
      </Stack>
    </Panel>
  );
}
