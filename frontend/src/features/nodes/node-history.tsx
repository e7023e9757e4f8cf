import { useQuery } from "@tanstack/react-query";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { When } from "@/components/when";
import { api, dataOf } from "@/lib/api";
import { useT, type MessageKey } from "@/lib/i18n";
import { keys } from "@/lib/query-keys";
import classes from "@/features/nodes/nodes.module.css";

/** What happened to the machine, the newest first. */
export function NodeHistory({ id }: { id: string }) {
  const t = useT();
  const events = useQuery({
    queryKey: [...keys.node(id), "events"],
    queryFn: ({ signal }) =>
      dataOf(api.GET("/api/v1/nodes/{node}/events", { params: { path: { node: id }, query: { limit: 50 } }, signal })),
  });
  const wordOf = (kind: string) => {
    const key = `nodes.event.${kind}` as MessageKey;
    const word = t(key);
    return word === key ? kind.replaceAll("_", " ") : word;
  };
  return (
    <Panel title={t("nodes.history")}>
      {events.error && <ProblemAlert problem={events.error} retry={() => void events.refetch()} />}
      {events.isPending && <SkeletonRows rows={4} />}
      <ol className={classes.history}>
        {events.data?.items.map((event) => (
          <li key={event.id}>
            <When at={event.at} />
            <strong>{wordOf(event.kind)}</strong>
            <span dir="auto" className={classes.quiet}>
              {[event.actor, event.reason].filter(Boolean).join(" · ")}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
