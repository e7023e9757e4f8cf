import { Button } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { ResizeDialog } from "@/features/lease/resize-dialog";
import { ExtendReservation } from "@/components/extend-reservation";
import { Icon } from "@/components/icon";
import { ReleaseReservation, releaseVerb } from "@/components/release-reservation";
import { useT } from "@/lib/i18n";
import { isChangeable, isReleasable, type Reservation } from "@/lib/reservation";

type Size = { memory_mib: number; share_permille: number };
type Asking = { what: "extend" } | { what: "release" } | { what: "resize"; first: Size } | null;

export type LeaseActions = {
  extend: (() => void) | undefined;
  resize: ((first: Size) => void) | undefined;
  primary: ReactNode;
  aside: ReactNode;
  dialog: ReactNode;
};

/** What can be done with a reservation as it stands, and the dialog that is open for it. */
export function useLeaseActions(reservation: Reservation, capacity: Size | null): LeaseActions {
  const t = useT();
  const [asking, ask] = useState<Asking>(null);
  const close = () => ask(null);
  const canChange = isChangeable(reservation);
  const extend = canChange ? () => ask({ what: "extend" }) : undefined;
  const resize = canChange && capacity ? (first: Size) => ask({ what: "resize", first }) : undefined;
  return {
    extend,
    resize,
    primary: extend && <Button onClick={extend}>{t("lease.extend")}</Button>,
    aside: (
      <>
        {isReleasable(reservation) && (
          <Button variant="default" leftSection={<Icon name="stop" size={14} />} onClick={() => ask({ what: "release" })}>
            {releaseVerb(reservation, t)}
          </Button>
        )}
        {resize && (
          <Button variant="default" leftSection={<Icon name="resize" size={14} />} onClick={() => resize(reservation.slice)}>
            {t("lease.resize")}
          </Button>
        )}
      </>
    ),
    dialog: (
      <>
        {asking?.what === "extend" && <ExtendReservation reservation={reservation} onClose={close} />}
        {asking?.what === "release" && <ReleaseReservation reservation={reservation} onClose={close} />}
        {asking?.what === "resize" && capacity && (
          <ResizeDialog reservation={reservation} capacity={capacity} first={asking.first} onClose={close} />
        )}
      </>
    ),
  };
}
