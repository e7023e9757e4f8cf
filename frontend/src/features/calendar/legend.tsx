import { useT } from "@/lib/i18n";
import { sizeText } from "@/lib/reservation-words";
import classes from "./calendar.module.css";
import type { Size } from "./types";

export function Legend({ size }: { size: Size }) {
  const t = useT();
  return (
    <div className={classes.legend}>
      <span>
        <i className={classes.legendFree} />
        {t("calendar.legend_free", { size: sizeText(size) })}
      </span>
      <span>
        <i className={classes.legendMine} />
        {t("calendar.legend_mine")}
      </span>
      <span>
        <i className={classes.legendOther} />
        {t("calendar.legend_taken")}
      </span>
      <span>
        <i className={classes.legendMaintenance} />
        {t("state.maintenance")}
      </span>
      <span id="calendar-keys">{t("calendar.keys")}</span>
    </div>
  );
}
