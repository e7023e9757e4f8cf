import { Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { useExtendQuote } from "@/hooks/use-change-quote";
import { useExtend } from "@/hooks/use-reservation-actions";
import { useZone } from "@/hooks/use-zone";
import { serverNow } from "@/lib/clock";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { nameOf } from "@/lib/reservation-words";
import { toLocalText } from "@/lib/time";
import { formatInstant } from "@/lib/time-format";
import { ActionLines } from "@/components/action-lines";
import { ExtendPrice } from "@/components/extend-price";
import { newEnd, type EndChoice, type NewEnd } from "@/components/new-end";
import { ProblemAlert } from "@/components/problem-alert";

type ExtendReservationProps = { reservation: Reservation; onClose: () => void };

const QUICK = [1, 4, 24];

function UntilField({ choice, found, from, onChange }: { choice: EndChoice; found: NewEnd; from: number; onChange: (next: EndChoice) => void }) {
  const t = useT();
  const { zone } = useZone();
  if (choice.kind !== "until") return null;
  const { trouble } = found;
  const error = trouble?.kind === "past" ? t("lease.extend_past", { end: formatInstant(from, zone) }) : undefined;
  return (
    <Stack gap="sm">
      <TextInput
        type="datetime-local"
        label={t("lease.extend_local", { zone })}
        value={choice.local}
        min={toLocalText(from, zone)}
        error={error}
        onChange={(event) => onChange({ ...choice, local: event.currentTarget.value })}
      />
      {trouble?.kind === "gap" && <Text>{t("lease.extend_gap", { shifted: formatInstant(trouble.shifted, zone) })}</Text>}
      {trouble?.kind === "overlap" && (
        <>
          <Text>{t("lease.extend_overlap")}</Text>
          <SegmentedControl
            value={choice.later ? "second" : "first"}
            onChange={(value) => onChange({ ...choice, later: value === "second" })}
            data={[
              { value: "first", label: t("lease.extend_first", { offset: trouble.first }) },
              { value: "second", label: t("lease.extend_second", { offset: trouble.second }) },
            ]}
          />
        </>
      )}
    </Stack>
  );
}

/** Another end, with its price before it is bought. */
export function ExtendReservation({ reservation, onClose }: ExtendReservationProps) {
  const t = useT();
  const { zone } = useZone();
  const [opened] = useState(serverNow);
  const from = reservation.ends_at === null ? opened : Math.max(opened, Date.parse(reservation.ends_at));
  const [choice, setChoice] = useState<EndChoice>({ kind: "hours", hours: 1 });
  const found = newEnd(choice, from, zone);
  const quote = useExtendQuote(reservation.id, found.ends_at);
  const extend = useExtend(reservation.id);
  const { ends_at } = found;

  const choose = (value: string) => {
    extend.reset();
    if (value === "open") setChoice({ kind: "open" });
    else if (value === "until") setChoice({ kind: "until", local: toLocalText(from + 3_600_000, zone), later: false });
    else setChoice({ kind: "hours", hours: Number(value) });
  };
  const buy = () => {
    if (ends_at === undefined) return;
    extend.mutate({ ends_at }, {
      onSuccess: (answer) => {
        const said = answer.ends_at ? t("lease.extend_done", { at: formatInstant(answer.ends_at, zone) }) : t("lease.extend_done_open");
        notifications.show({ message: said });
        onClose();
      },
    });
  };
  const options = [
    ...QUICK.map((hours) => ({ value: String(hours), label: t("lease.extend_hours", { n: hours }) })),
    { value: "until", label: t("lease.extend_until") },
    ...(reservation.ends_at === null ? [] : [{ value: "open", label: t("lease.extend_open") }]),
  ];
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("lease.extend_title", { name: nameOf(reservation) })}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <Stack gap="md">
        <SegmentedControl
          fullWidth
          aria-label={t("lease.extend_new_end")}
          value={choice.kind === "hours" ? String(choice.hours) : choice.kind}
          onChange={choose}
          data={options}
        />
        <UntilField choice={choice} found={found} from={from} onChange={setChoice} />
        {ends_at !== undefined && <ExtendPrice ends_at={ends_at} quote={quote} />}
        {extend.error && <ProblemAlert problem={extend.error} retry={buy} />}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t("common.cancel")}
          </Button>
          <Button
            data-autofocus
            loading={extend.isPending}
            disabled={ends_at === undefined || quote.isOld || quote.data?.fits !== true}
            onClick={buy}
          >
            {ends_at ? t("lease.extend_do", { at: formatInstant(ends_at, zone) }) : t("lease.extend_do_open")}
          </Button>
        </Group>
        {typeof ends_at === "string" && (
          <ActionLines
            vxpu={`vxpu reserve extend ${reservation.id} --end ${ends_at}`}
            curl={curlLine({ method: "POST", path: `/api/v1/reservations/${reservation.id}/extend`, body: { ends_at }, keyed: true })}
          />
        )}
      </Stack>
    </Modal>
  );
}
