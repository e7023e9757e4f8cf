import { Link } from "@tanstack/react-router";
import type { Schema } from "@/lib/api";

type FeedEvent = Schema<"FeedEvent">;

/** The page of what an event is about: its address, or null where there is none to see. */
export function addressOf(event: FeedEvent): string | null {
  const { subject, data } = event;
  const reservation = data["reservation"];
  if (subject.startsWith("rsv_")) return `/reservations/${subject}`;
  if (subject.startsWith("lse_")) return typeof reservation === "string" ? `/reservations/${reservation}` : null;
  if (subject.startsWith("nod_")) return `/nodes/${subject}`;
  if (subject.startsWith("dev_")) return `/devices/${subject}`;
  if (subject.startsWith("inv_")) return "/cost";
  if (subject.startsWith("prc_")) return "/offers";
  if (subject.startsWith("tok_")) return "/access";
  if (subject.startsWith("mem_")) return "/access?tab=members";
  if (subject.startsWith("ses_")) return "/access?tab=sessions";
  return null;
}

export function SubjectLink({ event }: { event: FeedEvent }) {
  const name = event.subject_name || event.subject;
  const address = addressOf(event);
  const text = event.subject_name ? <bdi>{name}</bdi> : <code>{name}</code>;
  if (address === null) return text;
  return (
    <Link to={address} title={event.subject}>
      {text}
    </Link>
  );
}
