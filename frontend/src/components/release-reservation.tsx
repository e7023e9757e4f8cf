import { notifications } from "@mantine/notifications";
import { useRelease } from "@/hooks/use-reservation-actions";
import { useZone } from "@/hooks/use-zone";
import { useT, type Translate } from "@/lib/i18n";
import { phaseOf, type Reservation } from "@/lib/reservation";
import { nameOf } from "@/lib/reservation-words";
import { formatInstant } from "@/lib/time-format";
import { formatMoney } from "@/lib/units";
import { ConfirmDestructive } from "@/components/confirm-destructive";

type ReleaseReservationProps = { reservation: Reservation; onClose: () => void };

/** The verb for giving it back, as far as it has come. */
export function releaseVerb(reservation: Reservation, t: Translate): string {
  const phase = phaseOf(reservation);
  if (phase === "waiting") return t("lease.leave_queue");
  return phase === "booked" ? t("lease.cancel_booking") : t("lease.release");
}

function lossOf(reservation: Reservation, t: Translate): string {
  const phase = phaseOf(reservation);
  if (phase === "waiting") return t("lease.release_loses_queue");
  return phase === "booked" ? t("lease.release_loses_booking") : t("lease.release_loses");
}

/** Says what is billed until when. */
function BillOf({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const { zone } = useZone();
  const cost = reservation.cost_so_far;
  const delivered = reservation.lease?.ready_at && cost;
  const hasRest = phaseOf(reservation) !== "waiting" && reservation.ends_at !== null;
  return (
    <>
      <p>
        {delivered
          ? t("lease.release_bills", { amount: formatMoney(cost.amount, cost.currency) })
          : t("lease.release_bills_nothing")}
      </p>
      {hasRest && <p>{t("lease.release_bills_rest", { end: formatInstant(reservation.ends_at ?? "", zone) })}</p>}
    </>
  );
}

/** Asks, with the name, what is lost and what is billed, and releases. */
export function ReleaseReservation({ reservation, onClose }: ReleaseReservationProps) {
  const t = useT();
  const release = useRelease(reservation.id);
  const name = nameOf(reservation);
  const confirm = async () => {
    await release.mutateAsync({});
    notifications.show({ message: t("lease.released", { name }) });
  };
  return (
    <ConfirmDestructive
      action={releaseVerb(reservation, t)}
      name={name}
      loses={lossOf(reservation, t)}
      bills={<BillOf reservation={reservation} />}
      onConfirm={confirm}
      onClose={onClose}
    />
  );
}
