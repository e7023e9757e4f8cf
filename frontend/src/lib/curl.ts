/** One call of the API as a line for a POSIX shell. The server and the token come from the environment. */
type Call = { method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE"; path: string; body?: object; /** It buys or changes: a key makes a repeat harmless. */ keyed?: boolean };

/** A word of a POSIX shell, quoted where it must be. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

export function curlLine({ method, path, body, keyed = false }: Call): string {
  const parts = [
    `curl -sS${method === "GET" ? "" : ` -X ${method}`} "$VXPU_SERVER${path}"`,
    `-H "Authorization: Bearer $VXPU_TOKEN"`,
  ];
  if (keyed) parts.push(`-H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)"`);
  if (body) parts.push(`-H "Content-Type: application/json"`, `-d ${shellWord(JSON.stringify(body))}`);
  return parts.join(" \\\n  ");
}
