import { useNavigate, useSearch } from "@tanstack/react-router";

/** One text of the address's search part: a filter that can be sent to a colleague. "" when absent. */
export function useSearchText(name: string): [string, (value: string) => void] {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const found = search[name];
  const set = (value: string) => {
    void navigate({
      to: ".",
      search: (before: Record<string, unknown>) => ({ ...before, [name]: value === "" ? undefined : value }),
      replace: true,
    });
  };
  return [typeof found === "string" || typeof found === "number" ? String(found) : "", set];
}
