import { useQuery } from "@tanstack/react-query";
import { CostMeter } from "@/features/lease/cost-meter";
import { EarlierStart } from "@/features/lease/earlier-start";
import { ExpiryClock } from "@/features/lease/expiry-clock";
import { FactsPanel } from "@/features/lease/facts-panel";
import { FirstRunPanel } from "@/features/lease/first-run-panel";
import { History } from "@/features/lease/history";
import { useLeaseActions } from "@/features/lease/lease-actions";
import { LivePanel } from "@/features/lease/live-panel";
import { NameField } from "@/features/lease/name-field";
import { QueuePanel } from "@/features/lease/queue-panel";
import { SlownessPanel } from "@/features/lease/slowness-panel";
import { StateNotice } from "@/features/lease/state-notice";
import { StateTimeline } from "@/features/lease/state-timeline";
import { useUsageWindows } from "@/features/lease/use-usage";
import { ActionLines } from "@/components/action-lines";
import { IsolationBadge } from "@/components/isolation-badge";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SimulatedBadge } from "@/components/simulated-badge";
import { StateBadge } from "@/components/state-badge";
import { useDevice } from "@/hooks/use-devices";
import { reservationEventsQuery } from "@/hooks/use-reservation";
import { curlLine } from "@/lib/curl";
import { phaseOf, type Reservation } from "@/lib/reservation";
import { nameOf, sizeText } from "@/lib/reservation-words";
import classes from "@/features/lease/lease-page.module.css";

type LeaseViewProps = { reservation: Reservation; /** Why the last reading failed. */ trouble: unknown; onRetry: () => void };

function Badges({ reservation, detail }: { reservation: Reservation; detail: string | undefined }) {
  const placed = reservation.device;
  return (
    <div className={classes.badges}>
      <StateBadge state={reservation.lease?.state === "unreachable" ? "unreachable" : reservation.state} />
      <span>{sizeText(reservation.slice)}</span>
      {placed && <span>{placed.model}</span>}
      {reservation.isolation && <IsolationBadge mode={reservation.isolation} detail={detail} simulated={placed?.simulated ?? false} />}
      {placed?.simulated && <SimulatedBadge />}
    </div>
  );
}

export function LeaseView({ reservation, trouble, onRetry }: LeaseViewProps) {
  const device = useDevice(reservation.device?.id ?? null).data;
  const events = useQuery(reservationEventsQuery(reservation.id)).data ?? [];
  const windows = useUsageWindows(reservation);
  const capacity = device ? { memory_mib: device.capacity_mib, share_permille: device.capacity_permille } : null;
  const actions = useLeaseActions(reservation, capacity);
  const phase = phaseOf(reservation);
  const hasLease = reservation.lease !== null;
  return (
    <Page
      title={nameOf(reservation)}
      heading={<NameField key={reservation.id} reservation={reservation} />}
      aside={actions.aside}
      primary={actions.primary}
    >
      <Badges reservation={reservation} detail={device?.isolation_detail} />
      {trouble !== null && trouble !== undefined && <ProblemAlert problem={trouble} retry={onRetry} />}
      <StateTimeline reservation={reservation} events={events} />
      <div className={classes.columns}>
        <div className={classes.column}>
          <StateNotice reservation={reservation} />
          <EarlierStart reservation={reservation} />
          <QueuePanel reservation={reservation} />
          {hasLease && phase !== "booked" && <LivePanel reservation={reservation} windows={windows} />}
          {hasLease && phase === "running" && (
            <SlownessPanel reservation={reservation} windows={windows} capacity={capacity} onResize={actions.resize} />
          )}
          <FirstRunPanel reservation={reservation} />
        </div>
        <div className={classes.column}>
          {phase !== "waiting" && (
            <div className={classes.meters}>
              <ExpiryClock reservation={reservation} onExtend={actions.extend} />
              <CostMeter reservation={reservation} />
            </div>
          )}
          <div className={classes.facts}>
            <FactsPanel reservation={reservation} device={device} />
          </div>
        </div>
      </div>
      <History events={events} />
      <ActionLines
        vxpu={`vxpu reserve show ${reservation.id}`}
        curl={curlLine({ method: "GET", path: `/api/v1/reservations/${reservation.id}` })}
      />
      {actions.dialog}
    </Page>
  );
}
