import { Link } from "@tanstack/react-router";
import type { Column } from "@/components/data-table";
import { Id } from "@/components/id";
import { Money } from "@/components/money";
import { SimulatedBadge } from "@/components/simulated-badge";
import { StateBadge } from "@/components/state-badge";
import { When } from "@/components/when";
import type { Me } from "@/hooks/use-me";
import type { Translate } from "@/lib/i18n";
import { roundAmount } from "@/lib/money";
import { phaseOf, type Reservation } from "@/lib/reservation";
import { nameOf, sizeText } from "@/lib/reservation-words";
import classes from "@/features/reservations/reservations.module.css";

function endOf(reservation: Reservation): string | null {
  return phaseOf(reservation) === "ended" ? reservation.ended_at : reservation.ends_at;
}

/** A column's id is the server's word where it can order by it. */
export function columnsOf(t: Translate, projects: Me["projects"]): Column<Reservation>[] {
  const projectName = (id: string) => projects.find((one) => one.id === id)?.name;
  return [
    {
      id: "name",
      head: t("reservations.name"),
      value: (row) => row.name,
      fixed: true,
      cell: (row) => (
        <Link to="/reservations/$id" params={{ id: row.id }} className={classes.name} title={nameOf(row)}>
          <bdi>{nameOf(row)}</bdi>
        </Link>
      ),
    },
    { id: "state", head: t("reservations.state"), cell: (row) => <StateBadge state={row.state} /> },
    { id: "size", head: t("reservations.size"), end: true, cell: (row) => <span className={classes.whole}>{sizeText(row.slice)}</span> },
    {
      id: "device",
      head: t("reservations.device"),
      cell: (row) =>
        row.device ? (
          <span className={classes.device}>
            {row.device.model} {row.device.simulated && <SimulatedBadge />}
          </span>
        ) : (
          <span className={classes.quiet}>{t("reservations.not_placed")}</span>
        ),
    },
    { id: "project", head: t("reservations.project"), hidden: projects.length < 2, cell: (row) => projectName(row.project) ?? <Id value={row.project} /> },
    { id: "starts_at", head: t("reservations.starts"), value: (row) => row.starts_at, end: true, cell: (row) => <When at={row.starts_at} /> },
    { id: "ends", head: t("reservations.ends"), end: true, cell: (row) => <When at={endOf(row)} none={t("common.open_end")} /> },
    {
      id: "cost",
      head: t("reservations.so_far"),
      end: true,
      cell: (row) => <Money amount={row.cost_so_far && roundAmount(row.cost_so_far.amount, 2)} currency={row.cost_so_far?.currency ?? ""} />,
    },
    {
      id: "rate",
      head: t("reservations.per_hour"),
      end: true,
      hidden: true,
      cell: (row) => <Money amount={row.amount_per_hour} currency={row.price?.currency ?? ""} />,
    },
    { id: "created_at", head: t("reservations.created"), value: (row) => row.created_at, end: true, hidden: true, cell: (row) => <When at={row.created_at} /> },
    { id: "id", head: t("reservations.id"), hidden: true, cell: (row) => <Id value={row.id} /> },
  ];
}
