import { Group } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useMemo } from "react";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { useZone } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import classes from "./calendar.module.css";
import { PhoneCalendar } from "./phone-calendar";
import { rangeOf } from "./range";
import { choices } from "./rows";
import { SizePicker } from "./size-picker";
import { DateBar, FilterBar } from "./toolbar";
import { useAvailability, useCalendarNews } from "./use-availability";
import { useCalendarParams } from "./use-calendar-params";
import { WideCalendar } from "./wide-calendar";

/** The fleet's time: what is taken, what is free for a size, and four ways to reserve. */
export function CalendarPage() {
  const t = useT();
  const { zone } = useZone();
  const [params, change] = useCalendarParams(zone);
  const isPhone = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const view = isPhone ? "3days" : params.view;
  const range = useMemo(() => rangeOf(view, params.date, zone), [view, params.date, zone]);
  const { data, error, refetch, isPlaceholderData } = useAvailability(range, params.size);
  useCalendarNews();
  const items = data?.items;
  const models = useMemo(() => choices(items ?? [], "model"), [items]);
  const racks = useMemo(() => choices(items ?? [], "rack"), [items]);
  const reference = items?.find((item) => params.model === "" || item.model === params.model);
  return (
    <Page title={t("calendar.title")} aside={<DateBar params={{ ...params, view }} change={change} withViews={!isPhone} />}>
      <div className={classes.calendar}>
        <Group justify="space-between" align="flex-end" gap="sm">
          <SizePicker size={params.size} capacity={reference} onChange={change} />
          {!isPhone && <FilterBar params={params} models={models} racks={racks} change={change} />}
        </Group>
        {error && <ProblemAlert problem={error} retry={() => void refetch()} />}
        {!items && !error && <SkeletonRows rows={12} height={34} />}
        {items && isPhone && (
          <PhoneCalendar items={items} size={params.size} onSize={change} range={range} zone={zone} />
        )}
        {items && !isPhone && (
          <WideCalendar
            items={items}
            isOld={isPlaceholderData}
            params={params}
            change={change}
            range={range}
            zone={zone}
          />
        )}
      </div>
    </Page>
  );
}
