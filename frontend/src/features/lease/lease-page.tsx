import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { LeaseView } from "@/features/lease/lease-view";
import { EmptyState } from "@/components/empty-state";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { reservationQuery } from "@/hooks/use-reservation";
import { useT } from "@/lib/i18n";
import { toProblem } from "@/lib/problem";

/** One reservation with its live part: `/reservations/$id`. */
export function LeasePage() {
  const t = useT();
  const { id = "" } = useParams({ strict: false });
  const answer = useQuery(reservationQuery(id));
  // The last thing known stays on screen while the server is away.
  if (answer.data) return <LeaseView reservation={answer.data} trouble={answer.error} onRetry={() => void answer.refetch()} />;
  if (!answer.error) {
    return (
      <Page title={t("lease.title")}>
        <SkeletonRows rows={3} height={48} />
        <SkeletonRows rows={2} height={200} />
      </Page>
    );
  }
  const isMissing = toProblem(answer.error).status === 404;
  return (
    <Page title={t("lease.title")}>
      {isMissing ? (
        <EmptyState
          title={t("lease.missing_title")}
          text={t("lease.missing_text")}
          action={<Anchor renderRoot={(props) => <Link to="/reservations" {...props} />}>{t("lease.all_reservations")}</Anchor>}
        />
      ) : (
        <ProblemAlert problem={answer.error} retry={() => void answer.refetch()} />
      )}
    </Page>
  );
}
