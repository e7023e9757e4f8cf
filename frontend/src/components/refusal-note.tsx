import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useZone } from "@/hooks/use-zone";
import { useT, type MessageKey, type Translate } from "@/lib/i18n";
import { sizeText } from "@/lib/reservation-words";
import { formatInstant } from "@/lib/time-format";
import { Icon } from "@/components/icon";

type Size = { memory_mib: number; share_permille: number };
type Refusal = {
  code: string;
  detail: string;
  suggestion: string;
  constraints: Record<string, number>;
  next_free_at: string | null;
  nearest: readonly Size[];
};
type RefusalNoteProps = { refusal: Refusal; /** Takes one of the sizes that fit. */ onPick?: (size: Size) => void };

/** A constraint in words; one that we have no word for shows as it came. */
export function constraintText(name: string, t: Translate): string {
  const key = `lease.waits_for.${name}` as MessageKey;
  const word = t(key);
  return word === key ? name.replaceAll("_", " ") : word;
}

/** Why not, and what would. */
export function RefusalNote({ refusal, onPick }: RefusalNoteProps) {
  const t = useT();
  const { zone } = useZone();
  const reasons = Object.entries(refusal.constraints).map(([name, n]) =>
    t("lease.devices_ruled_out", { reason: constraintText(name, t), n }),
  );
  return (
    <Alert role="status" color="yellow" variant="outline" icon={<Icon name="warning" size={20} />} title={t("lease.does_not_fit")}>
      <Stack gap="sm">
        <Text>{reasons.length > 0 ? t("lease.why_not", { reasons: reasons.join(", ") }) : refusal.detail || constraintText(refusal.code, t)}</Text>
        {refusal.next_free_at && (
          <Text>{t("lease.fits_from", { at: formatInstant(refusal.next_free_at, zone) })}</Text>
        )}
        {onPick && refusal.nearest.length > 0 && (
          <Group gap="sm">
            <Text>{t("lease.fits_if")}</Text>
            {refusal.nearest.map((size) => (
              <Button key={sizeText(size)} size="xs" variant="default" onClick={() => onPick(size)}>
                {sizeText(size)}
              </Button>
            ))}
          </Group>
        )}
        {reasons.length === 0 && refusal.suggestion && <Text>{refusal.suggestion}</Text>}
      </Stack>
    </Alert>
  );
}
