import { Button, Text } from "@mantine/core";
import { Icon } from "@/components/icon";
import classes from "@/features/reserve/reserve.module.css";
import { useNow } from "@/hooks/use-now";
import { useT } from "@/lib/i18n";
import { formatClock } from "@/lib/units";

type PriceHoldProps = { expiresAt: string; isExpired: boolean; isLoading: boolean; onRenew: () => void };

/** How long the price is held, by the server's clock. */
export function PriceHold({ expiresAt, isExpired, isLoading, onRenew }: PriceHoldProps) {
  const t = useT();
  const now = useNow(500);
  if (isExpired) {
    return (
      <span className={classes.hold}>
        <Text size="xs" role="status">
          {t("reserve.hold_over")}
        </Text>
        <Button size="compact-xs" variant="default" loading={isLoading} onClick={onRenew}>
          {t("reserve.hold_renew")}
        </Button>
      </span>
    );
  }
  const left = (Date.parse(expiresAt) - now) / 1000;
  return (
    <span className={classes.hold}>
      <Icon name="clock" size={14} />
      <Text size="xs" role="timer" aria-label={t("reserve.hold_label")}>
        {t("reserve.hold", { time: formatClock(left) })}
      </Text>
    </span>
  );
}
