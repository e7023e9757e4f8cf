import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { noticeOf, reasonKey, type Tone } from "@/features/lease/notice";
import { Icon, type IconName } from "@/components/icon";
import { useNow } from "@/hooks/use-now";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { formatRelative } from "@/lib/time-format";

const LOOKS: Record<Tone, { color: string; icon: IconName }> = {
  info: { color: "accent", icon: "info" },
  warning: { color: "yellow", icon: "warning" },
  error: { color: "red", icon: "crossCircle" },
};

/** What the state means in words, why it came to it, and what to do next. */
export function StateNotice({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const now = useNow(10_000);
  const notice = noticeOf(reservation);
  if (!notice) return null;
  const look = LOOKS[notice.tone];
  const known = reasonKey(notice.reason);
  const reason = known ? t(known) : notice.reason;
  return (
    <Alert
      role={notice.tone === "error" ? "alert" : "status"}
      color={look.color}
      variant="outline"
      icon={<Icon name={look.icon} size={20} />}
      title={t(notice.title, { when: notice.when ? formatRelative(notice.when, now) : "" })}
    >
      <Stack gap="sm">
        <Text>
          {t(notice.text)}
          {reason && ` ${t("lease.notice.reason", { reason })}`}
        </Text>
        {notice.again && (
          <Group gap="sm">
            <Button size="xs" variant="default" renderRoot={(props) => <Link to="/reserve" search={reservation.slice} {...props} />}>
              {t("lease.notice.again")}
            </Button>
            <Button size="xs" variant="subtle" renderRoot={(props) => <Link to="/calendar" {...props} />}>
              {t("lease.notice.others")}
            </Button>
          </Group>
        )}
      </Stack>
    </Alert>
  );
}
