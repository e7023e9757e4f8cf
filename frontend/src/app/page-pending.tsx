import { Skeleton, Stack } from "@mantine/core";
import { SkeletonRows } from "@/components/skeleton-rows";

/** The shape of a page that is on its way. */
export function PagePending() {
  return (
    <Stack gap="lg">
      <Skeleton height={28} width={220} radius={4} />
      <SkeletonRows rows={8} height={36} />
    </Stack>
  );
}
