import { Text } from "@mantine/core";
import { useNow } from "@/hooks/use-now";
import { serverOffset } from "@/lib/clock";
import { useT } from "@/lib/i18n";
import { formatDuration } from "@/lib/units";

const NOTABLE_MS = 60_000;

/** Says that this machine's clock is wrong, and that nothing here depends on it. */
export function ClockNote() {
  const t = useT();
  useNow(10_000);
  const offset = serverOffset();
  if (Math.abs(offset) < NOTABLE_MS) return null;
  const by = formatDuration(Math.abs(offset) / 1000);
  return (
    <Text size="xs" role="status">
      {t(offset < 0 ? "reserve.clock_fast" : "reserve.clock_slow", { by })}
    </Text>
  );
}
