import { Button, Group, Text } from "@mantine/core";
import { Link, useLocation } from "@tanstack/react-router";
import { Page } from "@/components/page";
import { useT } from "@/lib/i18n";

export function NotFoundPage() {
  const t = useT();
  const { pathname } = useLocation();
  return (
    <Page title={t("problem.not_found")}>
      <Text style={{ overflowWrap: "anywhere" }}>{t("problem.not_found_detail", { path: pathname })}</Text>
      <Group>
        <Button renderRoot={(props) => <Link to="/" {...props} />}>{t("problem.back_home")}</Button>
      </Group>
    </Page>
  );
}
