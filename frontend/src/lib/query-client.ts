import { QueryClient } from "@tanstack/react-query";
import { Problem } from "@/lib/problem";

const PASSING = new Set([0, 502, 503, 504]);

/** Only what may pass by itself is tried again: an answer with a reason stays. */
function worthRetrying(failures: number, thrown: unknown): boolean {
  return failures < 2 && thrown instanceof Problem && PASSING.has(thrown.status);
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // "always": a browser that believes to be offline may well reach a server in its own lab.
      queries: { staleTime: 10_000, retry: worthRetrying, networkMode: "always" },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}
