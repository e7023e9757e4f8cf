/** The network under a component test. A request that no test expects fails it. */
import { http, HttpResponse, type JsonBodyType } from "msw";
import { setupServer } from "msw/node";

export const network = setupServer();

type Method = "get" | "post" | "put" | "patch" | "delete";
export type Call = { url: URL; body: unknown; headers: Headers };

/** Answers a request with a value, or with what `answer` makes of it, and keeps the calls: `expect(calls).toHaveLength(1)`. */
export function serve(
  method: Method,
  path: string,
  answer: JsonBodyType | ((call: Call) => JsonBodyType | Response | Promise<Response>),
  status = 200,
): Call[] {
  const calls: Call[] = [];
  network.use(
    http[method](`*/api/v1${path}`, async ({ request }) => {
      const text = await request.text();
      const call = { url: new URL(request.url), body: text ? (JSON.parse(text) as unknown) : null, headers: request.headers };
      calls.push(call);
      const body = typeof answer === "function" ? await answer(call) : answer;
      if (body instanceof Response) return body;
      if (status === 204) return new HttpResponse(null, { status });
      return HttpResponse.json(body, { status });
    }),
  );
  return calls;
}

type ProblemFacts = { code: string; title?: string; detail?: string; suggestion?: string } & Record<string, unknown>;

/** Answers with a problem document. */
export function refuse(method: Method, path: string, status: number, facts: ProblemFacts, headers = {}): Call[] {
  const document = {
    type: `https://vxpu.example/problems/${facts.code}`,
    title: facts.code,
    detail: "",
    suggestion: "",
    request_id: "req_test",
    status,
    ...facts,
  };
  return serve(method, path, () =>
    HttpResponse.json(document, { status, headers: { "Content-Type": "application/problem+json", ...headers } }),
  );
}

/** A page of a list, as every list answers. */
export const pageOf = <Item>(items: Item[], next: string | null = null) => ({ items, next });
