/** Answers of the server, made for a test: `makeMe({ is_operator: true })`. */
import type { Schema } from "@/lib/api";

export const PROJECT: Schema<"Project"> = {
  id: "prj_01k2v7x9qefh8r8x5m3n1p0s4t",
  name: "vision",
  slug: "vision",
  created_at: "2026-11-01T09:00:00Z",
};

export function makeMe(over: Partial<Schema<"Me">> = {}): Schema<"Me"> {
  return {
    user: "usr_01k2v7x9qefh8r8x5m3n1p0s4t",
    name: "Ada",
    email: "ada@acme.example",
    tenant: { id: "ten_01k2v7x9qefh8r8x5m3n1p0s4t", name: "Acme", slug: "acme" },
    projects: [PROJECT],
    roles: ["tenant_admin"],
    scopes: ["reservation:read", "reservation:write", "lease:read", "lease:write", "billing:read", "identity:read", "identity:write", "price:read"],
    token: null,
    session: "ses_01k2v7x9qefh8r8x5m3n1p0s4t",
    has_password: true,
    is_operator: false,
    ...over,
  };
}
