import { CopyButton } from "@/components/copy-button";

/** An id in monospace, with a button that copies it. */
export function Id({ value }: { value: string }) {
  return (
    <span style={{ display: "inline-flex", alignItems: "center", gap: 4, minWidth: 0 }}>
      <code style={{ fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12, overflowWrap: "anywhere" }}>
        {value}
      </code>
      <CopyButton text={value} label={value} />
    </span>
  );
}
