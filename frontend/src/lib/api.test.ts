import { describe, expect, it } from "vitest";
import { api, dataOf } from "@/lib/api";
import { serverOffset } from "@/lib/clock";
import { newKey } from "@/lib/idempotency";
import { Problem, toProblem } from "@/lib/problem";
import { sessionEnd } from "@/lib/session-end";
import { makeMe } from "@/test/make";
import { network, refuse, serve } from "@/test/network";
import { http, HttpResponse } from "msw";

const thrownBy = (call: Promise<unknown>) => call.then(() => null, toProblem);

describe("the door to the server", () => {
  it("answers with the body of a success", async () => {
    serve("get", "/me", makeMe());
    expect((await dataOf(api.GET("/api/v1/me"))).name).toBe("Ada");
  });

  it("throws a problem with the document's further members", async () => {
    refuse("get", "/me", 409, { code: "no_capacity", detail: "Nothing is free.", alternatives: [1] }, { "Retry-After": "30" });
    const problem = await thrownBy(api.GET("/api/v1/me"));
    expect(problem).toMatchObject({ code: "no_capacity", status: 409, retry_after_s: 30, request_id: "req_test" });
    expect(problem?.data).toEqual({ alternatives: [1] });
  });

  it("names the field that is wrong", async () => {
    refuse("get", "/me", 422, { code: "invalid", errors: [{ pointer: "/slice/memory_mib", code: "max", detail: "Too much." }] });
    expect((await thrownBy(api.GET("/api/v1/me")))?.field("memory_mib")).toBe("Too much.");
  });

  it("says when no answer came at all", async () => {
    network.use(http.get("*/api/v1/me", () => HttpResponse.error()));
    expect(await thrownBy(api.GET("/api/v1/me"))).toMatchObject({ code: "unreachable", status: 0 });
  });

  it("does not take a proxy's page for an answer", async () => {
    network.use(http.get("*/api/v1/me", () => HttpResponse.text("<h1>Bad gateway</h1>", { status: 502 })));
    expect(await thrownBy(api.GET("/api/v1/me"))).toMatchObject({ code: "unexpected_answer", status: 502 });
  });

  it("tells the tab that its session is over, but not for a wrong password", async () => {
    refuse("post", "/session", 401, { code: "wrong_login" });
    await thrownBy(api.POST("/api/v1/session", { body: { token: "vxp_pat_x" } }));
    expect(sessionEnd.get()).toBeNull();
    refuse("get", "/me", 401, { code: "not_authenticated" });
    await thrownBy(api.GET("/api/v1/me"));
    expect(sessionEnd.get()).toBe("expired");
  });

  it("sends the CSRF token with what changes something", async () => {
    document.cookie = "vxpu_csrf=abc123";
    const calls = serve("delete", "/session", null, 204);
    await api.DELETE("/api/v1/session");
    expect(calls[0]?.headers.get("X-CSRF-Token")).toBe("abc123");
    document.cookie = "vxpu_csrf=; Max-Age=0";
  });

  it("learns the server's time from its answers", async () => {
    const date = new Date(Date.now() + 7_200_000).toUTCString();
    network.use(http.get("*/api/v1/me", () => HttpResponse.json(makeMe(), { headers: { Date: date } })));
    await api.GET("/api/v1/me");
    expect(Math.abs(serverOffset() - 7_200_000)).toBeLessThan(2_000);
  });

  it("keeps an aborted request no problem of anybody", async () => {
    serve("get", "/me", makeMe());
    const abort = new AbortController();
    abort.abort();
    const thrown: unknown = await api.GET("/api/v1/me", { signal: abort.signal }).catch((error: unknown) => error);
    expect(thrown).not.toBeInstanceOf(Problem);
  });
});

describe("idempotency keys", () => {
  it("are UUIDs of version 4, each another", () => {
    const keys = Array.from({ length: 50 }, newKey);
    for (const key of keys) expect(key).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(new Set(keys).size).toBe(50);
  });
});
