/** The one door to the server. Answers are typed by docs/openapi.json; whatever is not a success throws a Problem. */
import createClient, { type Middleware } from "openapi-fetch";
import { noteServerDate } from "@/lib/clock";
import { CSRF_HEADER, csrfToken } from "@/lib/csrf";
import { problemOf, unreachable } from "@/lib/problem";
import type { components, paths } from "@/lib/schema";
import { sessionEnd } from "@/lib/session-end";

/** A schema of the API by its name: `Schema<"Reservation">`. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

const SAFE = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const sent = new WeakMap<Request, number>();

const house: Middleware = {
  onRequest({ request }) {
    const token = SAFE.has(request.method) ? null : csrfToken();
    if (token) request.headers.set(CSRF_HEADER, token);
    sent.set(request, Date.now());
    return request;
  },
  async onResponse({ request, response, schemaPath }) {
    const now = Date.now();
    noteServerDate(response.headers.get("Date"), sent.get(request) ?? now, now);
    if (response.ok) return undefined;
    const problem = await problemOf(response);
    // At the log-in itself a 401 is an answer to read, not the end of anything.
    if (response.status === 401 && schemaPath !== "/api/v1/session") sessionEnd.set("expired");
    throw problem;
  },
  onError({ error }) {
    // An aborted request is nobody's problem: who aborted it wants no answer.
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return unreachable();
  },
};

export const api = createClient<paths>({
  baseUrl: location.origin,
  credentials: "same-origin",
  headers: { Accept: "application/json, application/problem+json" },
  // Looked up at each call: tests put their network under it.
  fetch: (request) => globalThis.fetch(request),
});
api.use(house);

type Answer<Data> = { data?: Data };

/** The body of a successful answer: `const me = await dataOf(api.GET("/api/v1/me"))`. Throws Problem. */
export async function dataOf<Data>(call: Promise<Answer<Data>>): Promise<Data> {
  const { data } = await call;
  return data as Data;
}
