import { formatMoney } from "@/lib/units";
import { useT } from "@/lib/i18n";
import { Hint } from "@/components/hint";

type MoneyProps = { amount: string | null | undefined; currency: string };

/** An amount with its currency, digit for digit as the server says it. */
export function Money({ amount, currency }: MoneyProps) {
  const t = useT();
  if (amount === null || amount === undefined) return <Hint text={t("common.unknown_why")}>{t("common.unknown")}</Hint>;
  return <span style={{ whiteSpace: "nowrap" }}>{formatMoney(amount, currency)}</span>;
}
