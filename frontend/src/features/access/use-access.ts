import { useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";
import { usePages } from "@/hooks/use-pages";
import { api, dataOf, type Schema } from "@/lib/api";
import { keys } from "@/lib/query-keys";

const LIMIT = 200;

export const useTokens = () =>
  usePages(keys.tokens, (cursor, signal) =>
    dataOf(api.GET("/api/v1/tokens", { params: { query: { cursor, limit: LIMIT } }, signal })),
  );

export const useMembers = () =>
  usePages(keys.members, (cursor, signal) =>
    dataOf(api.GET("/api/v1/members", { params: { query: { cursor, limit: LIMIT } }, signal })),
  );

export const useSessions = () =>
  usePages(keys.sessions, (cursor, signal) =>
    dataOf(api.GET("/api/v1/me/sessions", { params: { query: { cursor, limit: LIMIT } }, signal })),
  );

/** A change after which a list is read again. */
function useChange<Input, Output>(queryKey: QueryKey, mutationFn: (input: Input) => Promise<Output>) {
  const queries = useQueryClient();
  return useMutation({ mutationFn, onSuccess: () => queries.invalidateQueries({ queryKey }) });
}

export const useCreateToken = () =>
  useChange(keys.tokens, (body: Schema<"TokenInRequest">) => dataOf(api.POST("/api/v1/tokens", { body })));

export const useRevokeToken = () =>
  useChange(keys.tokens, (token: string) => dataOf(api.DELETE("/api/v1/tokens/{token}", { params: { path: { token } } })));

export const useAddMember = () =>
  useChange(keys.members, (body: Schema<"MemberInRequest">) => dataOf(api.POST("/api/v1/members", { body })));

export const useRemoveMember = () =>
  useChange(keys.members, (member: string) =>
    dataOf(api.DELETE("/api/v1/members/{member}", { params: { path: { member } } })),
  );

export const useEndSession = () =>
  useChange(keys.sessions, (session: string) =>
    dataOf(api.DELETE("/api/v1/me/sessions/{session}", { params: { path: { session } } })),
  );

export const useSetPassword = () =>
  useChange(keys.me, (body: Schema<"PasswordInRequest">) => dataOf(api.POST("/api/v1/me/password", { body })));
