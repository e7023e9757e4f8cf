import { Anchor, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CodeLine } from "@/features/lease/code-line";
import { execLine, firstRunLine, limitsLine, loginLine, logsLine, runOnNodeLine } from "@/features/lease/first-run";
import { Panel } from "@/components/panel";
import { useT } from "@/lib/i18n";
import { phaseOf, type Reservation } from "@/lib/reservation";

/** What to paste to see the slice do something, and the ways into it. Only ways that exist. */
export function FirstRunPanel({ reservation }: { reservation: Reservation }) {
  const t = useT();
  const lease = reservation.lease;
  if (!lease || phaseOf(reservation) !== "running") return null;
  // The program speaks OpenCL; on other devices the environment is shown instead.
  const speaksOpencl = reservation.device?.kind !== "nvidia";
  return (
    <>
      <Panel title={t("lease.first_run")}>
        <Stack gap="md">
          <Text>{t(speaksOpencl ? "lease.first_run_text" : "lease.first_run_plain")}</Text>
          {lease.state !== "ready" && <Text c="dimmed">{t("lease.first_run_wait")}</Text>}
          <div>
            <CodeLine label={t("lease.first_run_login")} text={loginLine(location.origin)} />
            <Anchor size="xs" renderRoot={(props) => <Link to="/access" {...props} />}>
              {t("lease.access_link")}
            </Anchor>
          </div>
          <CodeLine label={t("lease.first_run_go")} text={speaksOpencl ? firstRunLine(lease.id) : limitsLine(lease.id)} />
        </Stack>
      </Panel>
      <Panel title={t("lease.connect")}>
        <Stack gap="md">
          <CodeLine label={t("lease.connect_exec")} text={execLine(lease.id)} />
          <CodeLine label={t("lease.connect_logs")} text={logsLine(lease.id)} />
          <CodeLine label={t("lease.connect_run")} text={runOnNodeLine(lease.id)} />
          <CodeLine label={t("lease.connect_limits")} text={limitsLine(lease.id)} />
        </Stack>
      </Panel>
    </>
  );
}
