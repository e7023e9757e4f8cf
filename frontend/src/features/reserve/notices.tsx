import { Alert, Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Icon } from "@/components/icon";
import { ProblemAlert } from "@/components/problem-alert";
import type { PurchaseState } from "@/features/reserve/buyer";
import { refusalIn } from "@/features/reserve/refusal";
import { isHoldRenewed, isPriceChanged, type Renewal } from "@/features/reserve/use-quote";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import type { Problem } from "@/lib/problem";
import { formatInstant } from "@/lib/time-format";
import { formatMoney } from "@/lib/units";

/** The price was looked up again while somebody looks: said, and what changed. */
export function RenewalNotice({ renewal }: { renewal: Renewal }) {
  const t = useT();
  const { zone } = useZone();
  const { before, after } = renewal;
  if (isPriceChanged(renewal)) {
    return (
      <Alert color="yellow" variant="outline" role="status" icon={<Icon name="warning" />} title={t("reserve.price_changed")}>
        <s>{formatMoney(before.amount_per_hour, before.currency)}</s> {"→"}{" "}
        <strong>{formatMoney(after.amount_per_hour, after.currency)}</strong> {t("reserve.per_hour")}
      </Alert>
    );
  }
  if (!isHoldRenewed(renewal)) return null;
  return (
    <Text size="xs" c="dimmed" role="status">
      {t("reserve.hold_renewed", { at: formatInstant(after.created_at, zone, "time") })}
    </Text>
  );
}

type PurchaseNoticeProps = { state: PurchaseState; onTryAgain: () => void; onDismiss: () => void };

/** What became of a purchase that did not simply succeed. */
export function PurchaseNotice({ state, onTryAgain, onDismiss }: PurchaseNoticeProps) {
  if (state.kind === "refused") return <Refused problem={state.problem} />;
  if (state.kind !== "unsure") return null;
  return <Unsure state={state} onTryAgain={onTryAgain} onDismiss={onDismiss} />;
}

function Refused({ problem }: { problem: Problem }) {
  const t = useT();
  const bought = problem.data["reservation"];
  if (problem.code === "quote_used" && typeof bought === "string") {
    return (
      <Alert color="yellow" variant="outline" role="alert" icon={<Icon name="info" />} title={t("reserve.bought_before")}>
        <Anchor renderRoot={(props) => <Link {...props} to="/reservations/$id" params={{ id: bought }} />}>
          {t("reserve.bought_before_open")}
        </Anchor>
      </Alert>
    );
  }
  if (problem.code === "quote_expired" || refusalIn(problem)) {
    const isLate = problem.code === "quote_expired";
    return (
      <Alert
        color="yellow"
        variant="outline"
        role="alert"
        icon={<Icon name="warning" />}
        title={t(isLate ? "reserve.expired_title" : "reserve.taken_title")}
      >
        {t(isLate ? "reserve.expired_text" : "reserve.taken_text")}
      </Alert>
    );
  }
  return <ProblemAlert problem={problem} />;
}

type UnsureProps = Omit<PurchaseNoticeProps, "state"> & { state: Extract<PurchaseState, { kind: "unsure" }> };

function Unsure({ state, onTryAgain, onDismiss }: UnsureProps) {
  const t = useT();
  const isEarlier = state.problem === null;
  return (
    <Alert
      color="yellow"
      variant="outline"
      role="alert"
      icon={<Icon name="warning" />}
      title={t(isEarlier ? "reserve.earlier_title" : "reserve.unsure_title")}
    >
      <Stack gap={8}>
        <Text>{t(isEarlier ? "reserve.earlier_text" : "reserve.unsure_text")}</Text>
        {state.problem?.request_id && (
          <Text size="xs" c="dimmed">
            {state.problem.detail || state.problem.title} ({state.problem.request_id})
          </Text>
        )}
        <Text size="xs" role="status">
          {state.isTrying ? t("reserve.unsure_trying") : state.isAsking ? "" : t("reserve.unsure_waiting")}
        </Text>
        <Group gap={8}>
          <Button size="xs" loading={state.isTrying} onClick={onTryAgain}>
            {t(isEarlier ? "reserve.earlier_finish" : "reserve.unsure_now")}
          </Button>
          {state.isAsking && (
            <Button size="xs" variant="default" onClick={onDismiss}>
              {t("reserve.unsure_drop")}
            </Button>
          )}
          <Anchor component={Link} to="/reservations" size="xs">
            {t("reserve.unsure_list")}
          </Anchor>
        </Group>
      </Stack>
    </Alert>
  );
}
