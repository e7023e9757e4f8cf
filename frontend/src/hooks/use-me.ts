import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { api, dataOf, type Schema } from "@/lib/api";
import { keys } from "@/lib/query-keys";

export type Me = Schema<"Me">;

export const meQuery = queryOptions({
  queryKey: keys.me,
  queryFn: ({ signal }) => dataOf(api.GET("/api/v1/me", { signal })),
  staleTime: 60_000,
});

/** Who is logged in. The shell has loaded it before any page is drawn. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

/** True when the caller's token or session carries a scope; to write is to read. */
export const may = (me: Me, scope: Schema<"Scope">): boolean =>
  me.scopes.includes(scope) || me.scopes.some((held) => held.replace(":write", ":read") === scope);
