import { Choices, Popup } from "@/components/popup";
import { Icon } from "@/components/icon";
import { useNow } from "@/hooks/use-now";
import { useAccountZone, useZone, ZONE_MODES } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { offsetText } from "@/lib/time";
import { formatInstant } from "@/lib/time-format";
import classes from "@/app/shell.module.css";

/** The clock by which times are told: the server's time, in a zone of the viewer's choice. */
export function ZoneSwitch() {
  const t = useT();
  const now = useNow(10_000);
  useAccountZone();
  const { zone, mode, setMode, zones } = useZone();
  const options = ZONE_MODES.flatMap((one) => {
    const name = zones[one];
    if (name === undefined) return [];
    return [{ value: one, word: t(`shell.zone_${one}`, { zone: name }), note: offsetText(now, name) }];
  });
  const time = formatInstant(now, zone, "time");
  const face = (
    <>
      <Icon name="globe" size={14} />
      {time}
    </>
  );
  return (
    <Popup label={`${time}, ${t("shell.zone")}: ${zone}`} face={face} className={classes.button} align="end">
      {(close) => (
        <Choices
          legend={t("shell.zone")}
          value={mode}
          options={options}
          onChange={(chosen) => {
            setMode(chosen);
            close();
          }}
        />
      )}
    </Popup>
  );
}
