/** Why a request did not succeed: a problem document (RFC 9457), or what stood in the way of getting one. */

export type FieldError = { pointer?: string; code?: string; detail?: string };

type Facts = {
  code: string;
  status: number;
  title: string;
  detail: string;
  suggestion: string;
  request_id: string;
  errors?: FieldError[];
  data?: Record<string, unknown>;
  retry_after_s?: number | null;
};

export class Problem extends Error {
  readonly code: string;
  /** The HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly suggestion: string;
  readonly request_id: string;
  readonly errors: FieldError[];
  /** The document's further members, such as `alternatives` or `now`. */
  readonly data: Record<string, unknown>;
  readonly retry_after_s: number | null;

  constructor(facts: Facts) {
    super(facts.detail || facts.title);
    this.name = "Problem";
    this.code = facts.code;
    this.status = facts.status;
    this.title = facts.title;
    this.detail = facts.detail;
    this.suggestion = facts.suggestion;
    this.request_id = facts.request_id;
    this.errors = facts.errors ?? [];
    this.data = facts.data ?? {};
    this.retry_after_s = facts.retry_after_s ?? null;
  }

  /** What is wrong with one field of the request, if the server said so. */
  field(name: string): string | undefined {
    return this.errors.find((error) => error.pointer?.split("/").includes(name))?.detail;
  }
}

/** No answer came: the network, or the server, is away. */
export function unreachable(): Problem {
  return new Problem({ code: "unreachable", status: 0, title: "", detail: "", suggestion: "", request_id: "" });
}

/** Anything thrown, as a problem that a page can show. */
export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new Problem({ code: "client_error", status: 0, title: "", detail, suggestion: "", request_id: "" });
}

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** The problem that an answer with an error status carries; an answer of a proxy may carry none. */
export async function problemOf(response: Response): Promise<Problem> {
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  const base = {
    status: response.status,
    retry_after_s: Number.isFinite(seconds) ? seconds : null,
  };
  const body = await readJson(response);
  if (!body || typeof body["code"] !== "string") {
    const request_id = response.headers.get("X-Request-ID") ?? "";
    return new Problem({ ...base, code: "unexpected_answer", title: "", detail: "", suggestion: "", request_id });
  }
  const { type: _type, status: _status, title, detail, code, suggestion, request_id, errors, ...data } = body;
  return new Problem({
    ...base,
    code: text(code),
    title: text(title),
    detail: text(detail),
    suggestion: text(suggestion),
    request_id: text(request_id),
    errors: Array.isArray(errors) ? (errors as FieldError[]) : [],
    data,
  });
}

async function readJson(response: Response): Promise<Record<string, unknown> | null> {
  if (!/json/.test(response.headers.get("Content-Type") ?? "")) return null;
  try {
    const body: unknown = await response.json();
    return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : null;
  } catch {
    // A cut answer is not JSON; the caller says that the answer was not understood.
    return null;
  }
}
