import { Alert, Button, Stack, Text } from "@mantine/core";
import { Icon } from "@/components/icon";
import { constraintText } from "@/components/refusal-note";
import { useT } from "@/lib/i18n";
import { sizeText } from "@/lib/reservation-words";
import type { Way } from "./alternatives";
import type { Item } from "./types";
import { deviceName, periodOf } from "./words";

type ConflictProps = {
  /** Somebody was faster between the price and the purchase. */
  isLost: boolean;
  /** One device was asked for: only what holds of that one is a reason. */
  isNamed: boolean;
  detail: string;
  constraints: Record<string, number>;
  ways: Way[];
  items: Item[];
  zone: string;
  onTake: (way: Way) => void;
};

/** It does not fit: why, and ways out that one click takes. */
export function Conflict({ isLost, isNamed, detail, constraints, ways, items, zone, onTake }: ConflictProps) {
  const t = useT();
  const reasons = Object.entries(constraints)
    .filter(([name]) => !isNamed || name !== "other_device")
    .map(([name, n]) => (isNamed ? constraintText(name, t) : t("calendar.ruled_out", { reason: constraintText(name, t), n })));
  return (
    <Alert
      role="status"
      color="red"
      variant="outline"
      icon={<Icon name="warning" size={20} />}
      title={t(isLost ? "calendar.lost" : "calendar.no_fit")}
    >
      <Stack gap="sm">
        <Text size="sm">{reasons.length > 0 ? t("calendar.because", { reasons: reasons.join(", ") }) : detail}</Text>
        <Text size="sm" fw={600}>
          {t(ways.length > 0 ? "calendar.ways" : "calendar.no_way")}
        </Text>
        {ways.map((way, index) => {
          const item = items.find((one) => one.device === way.device);
          return (
            <Button
              key={`${way.device} ${way.span.from} ${way.span.to} ${sizeText(way.size)}`}
              size="xs"
              variant="default"
              justify="flex-start"
              h="auto"
              py={6}
              styles={{ label: { whiteSpace: "normal", textAlign: "left", fontWeight: 500, lineHeight: 1.3 } }}
              data-next={index === 0 ? "true" : undefined}
              onClick={() => onTake(way)}
            >
              {t(`calendar.way_${way.kind}`, {
                device: deviceName(t, item, way.device),
                period: periodOf(way.span, zone),
                size: sizeText(way.size),
              })}
            </Button>
          );
        })}
      </Stack>
    </Alert>
  );
}
