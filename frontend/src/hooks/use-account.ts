import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMe, may } from "@/hooks/use-me";
import { api, dataOf, type Schema } from "@/lib/api";
import { keys } from "@/lib/query-keys";

const accountQuery = queryOptions({
  queryKey: keys.account,
  queryFn: ({ signal }) => dataOf(api.GET("/api/v1/account", { signal })),
  staleTime: 10 * 60_000,
});

/** The account that the tenant pays from; undefined while unknown, and for who may not see one or pays nothing. */
export function useAccount(): Schema<"Account"> | undefined {
  const me = useMe();
  return useQuery({ ...accountQuery, enabled: may(me, "billing:read") && !me.is_operator, retry: false }).data;
}
