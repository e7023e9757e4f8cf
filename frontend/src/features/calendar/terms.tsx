import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { IsolationBadge } from "@/components/isolation-badge";
import { Money } from "@/components/money";
import { SimulatedBadge } from "@/components/simulated-badge";
import { useNow } from "@/hooks/use-now";
import { useT } from "@/lib/i18n";
import { formatClock, formatMoney } from "@/lib/units";
import classes from "./calendar.module.css";
import type { Quote } from "./use-quote";
import { tailOf } from "./words";

type TermsProps = { quote: Quote; isBuying: boolean; onReserve: (name: string) => void };

function Held({ until }: { until: string }) {
  const t = useT();
  const left = (Date.parse(until) - useNow(1_000)) / 1000;
  return (
    <Text size="xs" c="dimmed">
      {left > 0 ? t("calendar.held", { time: formatClock(left) }) : t("calendar.held_again")}
    </Text>
  );
}

/** It fits: where, how it is kept apart, what it costs. */
export function Terms({ quote, isBuying, onReserve }: TermsProps) {
  const t = useT();
  const [name, setName] = useState("");
  const total = quote.amount_total === null ? null : formatMoney(quote.amount_total, quote.currency);
  return (
    <Stack gap="sm">
      <dl className={classes.terms}>
        <dt>{t("calendar.device")}</dt>
        <dd>
          {quote.device_model} <span className={classes.mono}>{quote.device && tailOf(quote.device)}</span>
        </dd>
        <dt>{t("calendar.per_hour")}</dt>
        <dd>
          <Money amount={quote.amount_per_hour} currency={quote.currency} />
        </dd>
        <dt>{t("calendar.total")}</dt>
        <dd className={classes.total}>
          <Money amount={quote.amount_total} currency={quote.currency} />
        </dd>
      </dl>
      <Group gap={4}>
        <IsolationBadge mode={quote.isolation} detail={quote.isolation_detail} simulated={quote.simulated === true} />
        {quote.simulated === true && <SimulatedBadge />}
      </Group>
      <TextInput
        size="xs"
        label={t("calendar.name")}
        placeholder={t("calendar.name_hint")}
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Button fullWidth loading={isBuying} data-next="true" onClick={() => onReserve(name)}>
        {total === null ? t("calendar.reserve") : t("calendar.reserve_for", { total })}
      </Button>
      <Held until={quote.expires_at} />
    </Stack>
  );
}
