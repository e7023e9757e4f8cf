import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { ResizePrice } from "@/features/lease/resize-price";
import { ResizeSlider } from "@/features/lease/resize-slider";
import { ActionLines } from "@/components/action-lines";
import { ProblemAlert } from "@/components/problem-alert";
import { useResizeQuote } from "@/hooks/use-change-quote";
import { useResize } from "@/hooks/use-reservation-actions";
import { curlLine } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import type { Reservation } from "@/lib/reservation";
import { nameOf, sizeText } from "@/lib/reservation-words";
import { formatMemory, formatShare } from "@/lib/units";

type Size = { memory_mib: number; share_permille: number };

type ResizeDialogProps = {
  reservation: Reservation;
  /** What the device has in all. */
  capacity: Size;
  /** Where the sliders begin. */
  first: Size;
  onClose: () => void;
};

const stepFor = (mib: number) => [16, 64, 256, 1024, 4096].find((step) => mib / step <= 128) ?? 8192;

const vxpuSize = (size: Size) => `-m ${size.memory_mib}MiB -c ${size.share_permille / 10}%`;

/** Another size, with the price of the change before it is made. */
export function ResizeDialog({ reservation, capacity, first, onClose }: ResizeDialogProps) {
  const t = useT();
  const [size, setSize] = useState(first);
  const before = reservation.slice;
  const isSame = size.memory_mib === before.memory_mib && size.share_permille === before.share_permille;
  const quote = useResizeQuote(reservation.id, isSame ? null : size);
  const resize = useResize(reservation.id);
  const change = (next: Partial<Size>) => {
    resize.reset();
    setSize({ ...size, ...next });
  };
  const buy = () =>
    resize.mutate({ slice: size }, {
      onSuccess: (answer) => {
        notifications.show({ message: t("lease.resize_done", { size: sizeText(answer.slice) }) });
        onClose();
      },
    });
  return (
    <Modal
      opened
      size={620}
      onClose={onClose}
      title={t("lease.resize_title", { name: nameOf(reservation) })}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <Stack gap="md">
        <ResizeSlider
          name={t("lease.resize_memory")}
          icon="memory"
          value={size.memory_mib}
          before={before.memory_mib}
          max={Math.max(capacity.memory_mib, before.memory_mib)}
          step={stepFor(capacity.memory_mib)}
          format={formatMemory}
          input={{ label: t("lease.resize_memory_mib"), factor: 1, decimals: 0, suffix: "MiB" }}
          onChange={(memory_mib) => change({ memory_mib })}
        />
        <ResizeSlider
          name={t("lease.resize_compute")}
          icon="compute"
          value={size.share_permille}
          before={before.share_permille}
          max={Math.max(capacity.share_permille, before.share_permille)}
          step={5}
          format={formatShare}
          input={{ label: t("lease.resize_compute_percent"), factor: 10, decimals: 1, suffix: "%" }}
          onChange={(share_permille) => change({ share_permille })}
        />
        {isSame ? <Text c="dimmed">{t("lease.resize_same")}</Text> : <ResizePrice quote={quote} onPick={change} />}
        {resize.error && <ProblemAlert problem={resize.error} retry={buy} />}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t("common.cancel")}
          </Button>
          <Button loading={resize.isPending} disabled={isSame || quote.isOld || quote.data?.fits !== true} onClick={buy}>
            {t("lease.resize_do", { size: sizeText(size) })}
          </Button>
        </Group>
        {!isSame && (
          <ActionLines
            vxpu={`vxpu reserve resize ${reservation.id} ${vxpuSize(size)}`}
            curl={curlLine({ method: "POST", path: `/api/v1/reservations/${reservation.id}/resize`, body: { slice: size }, keyed: true })}
          />
        )}
      </Stack>
    </Modal>
  );
}
