import { useQuotas } from "@/features/home/use-home";
import { ProblemAlert } from "@/components/problem-alert";
import { ShareBar } from "@/components/share-bar";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useMe } from "@/hooks/use-me";
import { useT } from "@/lib/i18n";
import { formatMemory, formatNumber } from "@/lib/units";
import classes from "@/features/home/home.module.css";

const devices = (permille: number) => formatNumber(permille / 1000, 2);

/** How much of the tenant's quota is held, at its peak from now on. */
export function QuotaBars() {
  const t = useT();
  const me = useMe();
  const quotas = useQuotas();
  if (quotas.error) return <ProblemAlert problem={quotas.error} retry={() => void quotas.refetch()} />;
  if (!quotas.data) return <SkeletonRows rows={3} height={20} />;
  const quota = quotas.data.items.find((one) => one.project === null && one.tenant === me.tenant.id);
  if (!quota) return null;
  const { in_use } = quota;
  const bars = [
    {
      label: t("home.quota_share"),
      used: in_use.share_permille,
      limit: quota.nominal_permille,
      text: t("home.quota_devices", { used: devices(in_use.share_permille), limit: devices(quota.nominal_permille) }),
    },
    {
      label: t("home.quota_memory"),
      used: in_use.memory_mib,
      limit: quota.nominal_mib,
      text: t("home.quota_count", { used: formatMemory(in_use.memory_mib), limit: formatMemory(quota.nominal_mib) }),
    },
    {
      label: t("home.quota_reservations"),
      used: in_use.reservations,
      limit: quota.max_reservations,
      text: t("home.quota_count", { used: formatNumber(in_use.reservations), limit: formatNumber(quota.max_reservations) }),
    },
  ];
  return (
    <>
      {bars.map((bar) => (
        <div key={bar.label} className={classes.bar}>
          <span className={classes.label}>{bar.label}</span>
          <ShareBar label={bar.label} used={bar.used} limit={bar.limit} />
          <span className={classes.barValue}>{bar.text}</span>
        </div>
      ))}
    </>
  );
}
