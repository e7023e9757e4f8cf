import { Button, Text } from "@mantine/core";
import { Icon, type IconName } from "@/components/icon";
import { constraintsOf, isConstraint, type Refusal, type Way } from "@/features/reserve/refusal";
import classes from "@/features/reserve/reserve.module.css";
import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { useT, type Translate } from "@/lib/i18n";
import { sizeText } from "@/lib/reservation-words";
import { formatInstant, formatRelative } from "@/lib/time-format";

type WhyNotProps = { refusal: Refusal; ways: Way[]; onTake: (way: Way) => void };

function reasonOf(name: string, n: number, t: Translate): string {
  return isConstraint(name) ? t(`reserve.constraint.${name}`, { n }) : t("reserve.constraint.unknown", { n, name });
}

/** Why it does not fit, in words, and what does, each with one click. */
export function WhyNot({ refusal, ways, onTake }: WhyNotProps) {
  const t = useT();
  const reasons = constraintsOf(refusal);
  return (
    <div className={classes.whyNot}>
      {reasons.length > 0 ? (
        <ul className={classes.reasons}>
          {reasons.map(({ name, count }) => (
            <li key={name}>{reasonOf(name, count, t)}</li>
          ))}
        </ul>
      ) : (
        <Text>{refusal.detail}</Text>
      )}
      {ways.length > 0 ? (
        <>
          <div className={classes.label} id="ways">
            {t("reserve.ways")}
          </div>
          <div className={classes.ways} role="group" aria-labelledby="ways">
            {ways.map((way) => (
              <WayButton key={JSON.stringify(way)} way={way} onTake={onTake} />
            ))}
          </div>
        </>
      ) : (
        <Text size="xs" c="dimmed">
          {refusal.suggestion}
        </Text>
      )}
    </div>
  );
}

function WayButton({ way, onTake }: { way: Way; onTake: (way: Way) => void }) {
  const t = useT();
  const { zone } = useZone();
  const now = useNow(30_000);
  return (
    <Button
      variant="default"
      size="xs"
      justify="flex-start"
      leftSection={<Icon name={ICONS[way.kind]} />}
      onClick={() => onTake(way)}
    >
      {way.kind === "later" &&
        t("reserve.way_later", { at: formatInstant(way.starts_at, zone), time: formatRelative(way.starts_at, now) })}
      {way.kind === "smaller" && t("reserve.way_smaller", { size: sizeText(way.size) })}
      {way.kind === "any_device" && t("reserve.way_any_device")}
    </Button>
  );
}

const ICONS = { later: "clock", smaller: "resize", any_device: "fleet" } as const satisfies Record<Way["kind"], IconName>;
