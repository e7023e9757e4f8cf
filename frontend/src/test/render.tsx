/** Draws a component as the application would: theme, cache, an address, somebody logged in. */
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import type { JSX } from "react";
import { Providers } from "@/app/providers";
import type { Me } from "@/hooks/use-me";
import { createQueryClient } from "@/lib/query-client";
import { keys } from "@/lib/query-keys";
import { makeMe } from "@/test/make";

type Options = {
  /** The address, with its search part. */
  at?: string;
  /** The path that the component stands at: `/reservations/$id`. */
  path?: string;
  me?: Me;
};

/** Renders and waits for the first picture; answers the user's hands and the router. */
export async function renderPage(component: () => JSX.Element, { at = "/", path, me = makeMe() }: Options = {}) {
  const queryClient = createQueryClient();
  queryClient.setDefaultOptions({ queries: { ...queryClient.getDefaultOptions().queries, retry: false } });
  queryClient.setQueryData(keys.me, me);
  const root = createRootRoute();
  const here = createRoute({ getParentRoute: () => root, path: path ?? at.replace(/\?.*/, ""), component });
  const other = createRoute({ getParentRoute: () => root, path: "$", component: OtherPage });
  const router = createRouter({
    routeTree: root.addChildren([here, other]),
    history: createMemoryHistory({ initialEntries: [at] }),
    defaultPendingMinMs: 0,
  });
  await act(async () => {
    await router.load();
  });
  const view = render(
    <Providers queryClient={queryClient}>
      <RouterProvider router={router as never} />
    </Providers>,
  );
  const user = userEvent.setup();
  return { ...view, user, router, queryClient, screen };
}

function OtherPage() {
  return <div data-testid="other-page" />;
}
