/** Every page's address. A page is a chunk of its own, fetched when it is opened. */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import type { ComponentType } from "react";
import { BareErrorPage, ErrorPage } from "@/app/error-page";
import { NotFoundPage } from "@/app/not-found-page";
import { PagePending } from "@/app/page-pending";
import { Shell } from "@/app/shell";
import { costSearch } from "@/features/cost/cost-search";
import { eventsSearch } from "@/features/events/events-search";
import { loginSearch } from "@/features/session/login-search";
import { meQuery } from "@/hooks/use-me";
import { Problem } from "@/lib/problem";

type Context = { queryClient: QueryClient };

const lazy = (load: () => Promise<ComponentType>) => lazyRouteComponent(async () => ({ default: await load() }));

const root = createRootRouteWithContext<Context>()({ component: Outlet });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: loginSearch,
  component: lazy(() => import("@/features/session/login-page").then((file) => file.LoginPage)),
});

/** Everything that needs to know who is there. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  errorComponent: BareErrorPage,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queryClient.ensureQueryData(meQuery);
    } catch (thrown) {
      if (!(thrown instanceof Problem) || thrown.status !== 401) throw thrown;
      throw redirect({ to: "/login", search: { next: location.href === "/" ? undefined : location.href } });
    }
  },
});

// One line a page; a page with search parameters says how they are read (`validateSearch`).
const pages = [
  createRoute({
    getParentRoute: () => inside,
    path: "/",
    component: lazy(() => import("@/features/home/home-page").then((file) => file.HomePage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/offers",
    component: lazy(() => import("@/features/offers/offers-page").then((file) => file.OffersPage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/reserve",
    // As it came: the page says what of a link it could not understand.
    validateSearch: (raw: Record<string, unknown>) => raw,
    component: lazy(() => import("@/features/reserve/reserve-page").then((file) => file.ReservePage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/calendar",
    component: lazy(() => import("@/features/calendar/calendar-page").then((file) => file.CalendarPage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/reservations",
    component: lazy(() => import("@/features/reservations/reservations-page").then((file) => file.ReservationsPage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/reservations/$id",
    component: lazy(() => import("@/features/lease/lease-page").then((file) => file.LeasePage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/cost",
    validateSearch: costSearch,
    component: lazy(() => import("@/features/cost/cost-page").then((file) => file.CostPage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/access",
    validateSearch: (raw: Record<string, unknown>) => raw,
    component: lazy(() => import("@/features/access/access-page").then((file) => file.AccessPage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/events",
    validateSearch: eventsSearch,
    component: lazy(() => import("@/features/events/events-page").then((file) => file.EventsPage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/fleet",
    component: lazy(() => import("@/features/fleet/fleet-page").then((file) => file.FleetPage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/nodes",
    component: lazy(() => import("@/features/nodes/nodes-page").then((file) => file.NodesPage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/nodes/$id",
    component: lazy(() => import("@/features/nodes/node-page").then((file) => file.NodePage)),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: "/devices/$id",
    component: lazy(() => import("@/features/nodes/device-page").then((file) => file.DevicePage)),
  }),
  // Whatever else: said inside the frame, with its ways on.
  createRoute({ getParentRoute: () => inside, path: "$", component: NotFoundPage }),
] as const;

const routeTree = root.addChildren([login, inside.addChildren(pages)]);

export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: "intent",
    defaultErrorComponent: ErrorPage,
    defaultNotFoundComponent: NotFoundPage,
    defaultPendingComponent: PagePending,
    defaultPendingMs: 150,
    scrollRestoration: true,
  });
}

export type AppRouter = ReturnType<typeof createAppRouter>;

declare module "@tanstack/react-router" {
  interface Register {
    router: AppRouter;
  }
}
