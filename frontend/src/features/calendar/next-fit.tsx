import { Alert, Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Icon } from "@/components/icon";
import { useProject } from "@/hooks/use-project";
import { api, dataOf } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { keys } from "@/lib/query-keys";
import { sizeText } from "@/lib/reservation-words";
import { formatInstant } from "@/lib/time-format";
import { serverNow } from "@/lib/clock";
import { HOUR_MS, type Range } from "./range";
import type { Size } from "./types";
import { wishOf } from "./use-quote";

type NextFitProps = { size: Size; range: Range; zone: string; onJump: (at: number) => void };

/** Nothing on screen has room for the size: when something has, and a way there. */
export function NextFit({ size, range, zone, onJump }: NextFitProps) {
  const t = useT();
  const { project } = useProject();
  const { data, isPending } = useQuery({
    queryKey: keys.quote({ next_after: range.from, size, project: project?.id }),
    queryFn: ({ signal }) => {
      if (!project) throw new Error("no project to ask for");
      const now = serverNow();
      const from = Math.max(range.from, now);
      const body = wishOf({ device: null, from, to: from + HOUR_MS }, size, project.id, now);
      return dataOf(api.POST("/api/v1/quotes", { body, signal }));
    },
    enabled: project !== null,
  });
  const next = data ? (data.fits ? data.starts_at : (data.refusal?.next_free_at ?? data.earliest_start_at)) : null;
  const text = next
    ? t("calendar.next_fit", { at: formatInstant(next, zone) })
    : isPending && project
      ? t("calendar.next_fit_looking")
      : t("calendar.never_fits");
  return (
    <Alert role="status" color="yellow" variant="outline" py="xs" icon={<Icon name="info" size={20} />}>
      <Group justify="space-between" gap="sm">
        <Text size="sm">
          {t("calendar.nothing_fits", { size: sizeText(size) })} {text}
        </Text>
        {next && (
          <Button size="xs" variant="default" onClick={() => onJump(Date.parse(next))}>
            {t("calendar.jump")}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
