import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { barsOf } from "@/features/nodes/device-lanes";
import { Panel } from "@/components/panel";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useNow } from "@/hooks/use-now";
import { useZone } from "@/hooks/use-zone";
import { api, dataOf, type Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { keys } from "@/lib/query-keys";
import { formatInstant } from "@/lib/time-format";
import { formatMemory, formatShare } from "@/lib/units";
import classes from "@/features/nodes/nodes.module.css";

const HOUR = 3_600_000;
const BACK = 6 * HOUR;
const LENGTH = 54 * HOUR;
const STEP = 6 * HOUR;

/** Who has a part of the device from a little ago until the day after tomorrow; others' have no name. */
export function DeviceCalendar({ device }: { device: Schema<"Device"> }) {
  const t = useT();
  const { zone } = useZone();
  const now = useNow(60_000);
  const from = Math.floor((now - BACK) / HOUR) * HOUR;
  const to = from + LENGTH;
  const query = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const calendar = useQuery({
    queryKey: [...keys.device(device.id), "calendar", query],
    queryFn: ({ signal }) =>
      dataOf(api.GET("/api/v1/devices/{device}/calendar", { params: { path: { device: device.id }, query }, signal })),
    refetchInterval: 30_000,
  });
  const { bars, lanes } = barsOf(calendar.data?.items ?? [], from, to);
  const marks = Array.from({ length: LENGTH / STEP }, (_, index) => from + index * STEP);
  const place = (at: number) => `${((at - from) / LENGTH) * 100}%`;
  return (
    <Panel title={t("nodes.calendar")} aside={<Link to="/calendar" className={classes.link}>{t("nodes.whole_calendar")}</Link>}>
      {calendar.error && <ProblemAlert problem={calendar.error} retry={() => void calendar.refetch()} />}
      {calendar.isPending && <SkeletonRows rows={3} />}
      {calendar.data && (
        <div className={classes.scroll} role="region" aria-label={t("nodes.calendar")} tabIndex={0}>
          <div className={classes.lanes} style={{ height: 28 + Math.max(1, lanes) * 26 }}>
            {marks.map((at) => (
              <span key={at} className={classes.mark} style={{ left: place(at) }}>
                {formatInstant(at, zone)}
              </span>
            ))}
            <i className={classes.nowLine} style={{ left: place(now) }} />
            {bars.map(({ taken, lane, left, width }) => {
              const size = `${formatMemory(taken.slice.memory_mib)} · ${formatShare(taken.slice.share_permille)}`;
              const ends = taken.ends_at === null ? t("common.open_end") : formatInstant(taken.ends_at, zone);
              const text = `${size}, ${formatInstant(taken.starts_at, zone)} – ${ends}`;
              return (
                <span
                  key={`${taken.starts_at} ${lane}`}
                  className={taken.lease ? classes.named : classes.nameless}
                  style={{ left: `${left}%`, width: `${width}%`, top: 26 + lane * 26 }}
                  title={text}
                >
                  {size}
                </span>
              );
            })}
          </div>
        </div>
      )}
      {calendar.data && bars.length === 0 && <p className={classes.quiet}>{t("nodes.calendar_empty")}</p>}
    </Panel>
  );
}
