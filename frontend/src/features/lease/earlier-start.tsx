import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { ActionLines } from "@/components/action-lines";
import { Icon } from "@/components/icon";
import { ProblemAlert } from "@/components/problem-alert";
import { useNow } from "@/hooks/use-now";
import { useStartEarlier } from "@/hooks/use-reservation-actions";
import { useZone } from "@/hooks/use-zone";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { formatInstant, formatRelative } from "@/lib/time-format";

/** Room came free before the booked start: an offer, nothing happens by itself. */
export function EarlierStart({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const now = useNow(10_000);
  const { zone } = useZone();
  const start = useStartEarlier(reservation.id);
  const at = reservation.earlier_start_at;
  if (at === null || reservation.state !== "confirmed") return null;
  const when = formatRelative(Math.max(Date.parse(at), now), now);
  const take = () =>
    start.mutate({}, {
      onSuccess: (answer) => notifications.show({ message: t("lease.earlier_done", { when: formatInstant(answer.starts_at, zone) }) }),
    });
  return (
    <Alert role="status" color="accent" variant="outline" icon={<Icon name="clock" size={20} />} title={t("lease.earlier_title", { when })}>
      <Stack gap="sm">
        <Text>{t("lease.earlier_text")}</Text>
        {start.error && <ProblemAlert problem={start.error} retry={take} />}
        <Group>
          <Button size="xs" variant="default" loading={start.isPending} onClick={take}>
            {t("lease.earlier_do", { when })}
          </Button>
        </Group>
        <ActionLines
          vxpu={`vxpu reserve start-earlier ${reservation.id}`}
          curl={curlLine({ method: "POST", path: `/api/v1/reservations/${reservation.id}/start-earlier`, keyed: true })}
        />
      </Stack>
    </Alert>
  );
}
