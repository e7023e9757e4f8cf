/** The CSRF token that the server keeps in a readable cookie; unsafe requests return it in a header. */
export const CSRF_HEADER = "X-CSRF-Token";

export function csrfToken(): string | null {
  const found = /(?:^|;\s*)vxpu_csrf=([^;]*)/.exec(document.cookie);
  return found?.[1] ? decodeURIComponent(found[1]) : null;
}
