import { Alert, Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Icon } from "@/components/icon";
import { useT } from "@/lib/i18n";
import { nameOf } from "@/lib/reservation-words";
import { formatInstant } from "@/lib/time-format";
import { spanOf } from "./layout";
import type { Bought } from "./use-purchase";
import { periodOf } from "./words";

export function BoughtNote({ bought, zone, onClose }: { bought: Bought; zone: string; onClose: () => void }) {
  const t = useT();
  const span = spanOf(bought);
  const period = Number.isFinite(span.to) ? periodOf(span, zone) : formatInstant(span.from, zone);
  return (
    <Alert
      role="status"
      color="green"
      variant="outline"
      icon={<Icon name="checkCircle" size={20} />}
      title={t("calendar.bought")}
      withCloseButton
      closeButtonLabel={t("common.close")}
      onClose={onClose}
    >
      <Text size="sm" dir="auto">
        {nameOf(bought)}
      </Text>
      <Text size="sm">{period}</Text>
      <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/reservations/$id" params={{ id: bought.id }} />}>
        {t("calendar.open_it")}
      </Anchor>
    </Alert>
  );
}
