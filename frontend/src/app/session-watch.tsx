import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { AppRouter } from "@/app/router";
import { keys } from "@/lib/query-keys";
import { sessionEnd } from "@/lib/session-end";

/** When the session ends, whoever noticed: forget what was its own and ask for a new one, saying why. */
export function SessionWatch({ router }: { router: AppRouter }) {
  const queries = useQueryClient();
  useEffect(
    () =>
      sessionEnd.subscribe(() => {
        const why = sessionEnd.get();
        if (why === null) return;
        const wasIn = queries.getQueryData(keys.me) !== undefined;
        const next = router.state.location.href;
        const isLogin = router.state.location.pathname === "/login";
        queries.clear();
        if (isLogin) return;
        const search = { next: why === "signed_out" ? undefined : next, why: wasIn ? why : undefined };
        void router.navigate({ to: "/login", search });
      }),
    [queries, router],
  );
  return null;
}
