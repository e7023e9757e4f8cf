import { Button, Group, Stack } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { useT } from "@/lib/i18n";

/** What stands where a page should: why, the request's id, and two ways back. */
export function ErrorPage({ error, reset }: { error: unknown; reset: () => void }) {
  const t = useT();
  const router = useRouter();
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return (
    <Page title={t("problem.page_failed")}>
      <Stack gap="md" maw={720}>
        <ProblemAlert problem={error} retry={retry} />
        <Group gap="sm">
          <Button variant="default" component="a" href="/">
            {t("problem.back_home")}
          </Button>
          <Button variant="subtle" onClick={() => location.reload()}>
            {t("problem.reload")}
          </Button>
        </Group>
      </Stack>
    </Page>
  );
}

/** The same without the frame, which could not be drawn either. */
export function BareErrorPage(props: { error: unknown; reset: () => void }) {
  return (
    <main style={{ padding: 24 }}>
      <ErrorPage {...props} />
    </main>
  );
}
