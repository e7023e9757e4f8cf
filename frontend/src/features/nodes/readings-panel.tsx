import { Panel } from "@/components/panel";
import { Reading } from "@/components/reading";
import { When } from "@/components/when";
import type { Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";
import { READINGS, toReading } from "@/features/nodes/readings";
import classes from "@/features/nodes/nodes.module.css";

/** Every reading with its age and its quality; one that the driver does not give is n/a. */
export function ReadingsPanel({ device }: { device: Schema<"Device"> }) {
  const t = useT();
  const names = Object.keys(device.readings).sort();
  return (
    <Panel title={t("nodes.readings")}>
      {names.length === 0 && <p className={classes.quiet}>{t("nodes.no_readings")}</p>}
      {names.length > 0 && (
        <div className={classes.scroll} role="region" aria-label={t("nodes.readings")} tabIndex={0}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th>{t("nodes.reading")}</th>
              <th className={classes.end}>{t("nodes.value")}</th>
              <th>{t("nodes.quality")}</th>
              <th className={classes.end}>{t("nodes.age")}</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => {
              const known = READINGS[name];
              const reading = toReading(device, name);
              return (
                <tr key={name}>
                  <td>{known ? t(known.label) : <code>{name}</code>}</td>
                  <td className={classes.end}>
                    <Reading reading={reading} {...(known ? { format: known.format } : {})} />
                  </td>
                  <td>{t(`reading.${reading?.quality ?? "unavailable"}`)}</td>
                  <td className={classes.end}>
                    <When at={reading?.at ?? null} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
        </div>
      )}
    </Panel>
  );
}
