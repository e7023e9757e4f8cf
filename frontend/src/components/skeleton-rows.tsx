import { Skeleton, Stack, VisuallyHidden } from "@mantine/core";
import { useT } from "@/lib/i18n";

/** The shape of rows that are on their way. */
export function SkeletonRows({ rows = 6, height = 32 }: { rows?: number; height?: number }) {
  const t = useT();
  return (
    <Stack gap={4} aria-busy="true">
      <VisuallyHidden role="status">{t("common.loading")}</VisuallyHidden>
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} height={height} radius={4} />
      ))}
    </Stack>
  );
}
