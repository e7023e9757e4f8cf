import { queryOptions, useMutation, useQuery, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { api, dataOf, type Schema } from "@/lib/api";
import type { Problem } from "@/lib/problem";
import { keys } from "@/lib/query-keys";

export type Node = Schema<"Node">;
export type Impact = Schema<"Impact">;

const AGAIN_MS = 15_000;
/** More machines are read at most: five hundred thousand devices. */
const MOST_PAGES = 25;

async function readNodes(signal: AbortSignal): Promise<Node[]> {
  const found: Node[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer: Schema<"NodePage"> = await dataOf(
      api.GET("/api/v1/nodes", { params: { query: { limit: 200, cursor } }, signal }),
    );
    found.push(...answer.items);
    if (answer.next === null) break;
    cursor = answer.next;
  }
  return found;
}

export const nodesQuery = queryOptions({
  queryKey: [...keys.nodes, "all"],
  queryFn: ({ signal }) => readNodes(signal),
  refetchInterval: AGAIN_MS,
});

export const useNodes = () => useQuery(nodesQuery);

const path = (node: string) => ({ path: { node } });

export const useNode = (id: string) =>
  useQuery({
    queryKey: keys.node(id),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/nodes/{node}", { params: path(id), signal })),
    refetchInterval: AGAIN_MS,
  });

/** Whom a drain of the node would touch. */
export const impactQuery = (id: string) =>
  queryOptions({
    queryKey: keys.nodeImpact(id),
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/nodes/{node}/impact", { params: path(id), signal })),
    staleTime: 0,
  });

export type NodeChange =
  | { verb: "cordon" | "uncordon" | "undrain"; nodes: string[] }
  | { verb: "drain"; nodes: string[]; reason: string; at: string | null }
  | { verb: "revoke"; nodes: string[]; reason: string };

function send(change: NodeChange, node: string): Promise<Node> {
  const params = path(node);
  switch (change.verb) {
    case "cordon":
      return dataOf(api.POST("/api/v1/nodes/{node}/cordon", { params, body: { reason: "" } }));
    case "uncordon":
      return dataOf(api.POST("/api/v1/nodes/{node}/uncordon", { params }));
    case "undrain":
      return dataOf(api.POST("/api/v1/nodes/{node}/undrain", { params }));
    case "drain":
      return dataOf(
        api.POST("/api/v1/nodes/{node}/drain", { params, body: { reason: change.reason, at: change.at, move: false } }),
      );
    case "revoke":
      return dataOf(api.POST("/api/v1/nodes/{node}/revoke", { params, body: { reason: change.reason } }));
  }
}

/** One after the other: each is safe to repeat, so what failed half-way is simply asked for again. */
export function useNodeChange(): UseMutationResult<Node[], Problem, NodeChange> {
  const client = useQueryClient();
  return useMutation<Node[], Problem, NodeChange>({
    mutationFn: async (change) => {
      const done: Node[] = [];
      for (const node of change.nodes) done.push(await send(change, node));
      return done;
    },
    onSettled: () => {
      void client.invalidateQueries({ queryKey: keys.nodes });
      void client.invalidateQueries({ queryKey: keys.fleet });
      void client.invalidateQueries({ queryKey: keys.devices });
    },
  });
}
