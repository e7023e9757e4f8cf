/** What this browser keeps between visits. Storage may be blocked: then a choice lives as long as the page. */
const memory = new Map<string, string>();
const PREFIX = "vxpu.";

export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name) ?? memory.get(name) ?? null;
  } catch {
    return memory.get(name) ?? null;
  }
}

export function writeStored(name: string, value: string): void {
  memory.set(name, value);
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Kept in memory above.
  }
}
