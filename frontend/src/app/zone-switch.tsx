import { Button, Menu } from "@mantine/core";
import { Icon } from "@/components/icon";
import { useNow } from "@/hooks/use-now";
import { useZone, ZONE_MODES } from "@/hooks/use-zone";
import { useT } from "@/lib/i18n";
import { offsetText } from "@/lib/time";
import { formatInstant } from "@/lib/time-format";

/** The clock by which times are told: the server's time, in a zone of the viewer's choice. */
export function ZoneSwitch() {
  const t = useT();
  const now = useNow(10_000);
  const { zone, mode, setMode, zones } = useZone();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          size="xs"
          variant="subtle"
          color="gray"
          c="inherit"
          aria-label={`${t("shell.zone")}: ${zone}`}
          leftSection={<Icon name="globe" size={14} />}
        >
          {formatInstant(now, zone, "time")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("shell.zone")}</Menu.Label>
        {ZONE_MODES.map((one) => {
          const name = zones[one];
          if (name === undefined) return null;
          return (
            <Menu.Item
              key={one}
              role="menuitemradio"
              aria-checked={one === mode}
              leftSection={one === mode ? <Icon name="check" size={14} /> : <span style={{ width: 14 }} />}
              rightSection={offsetText(now, name)}
              onClick={() => setMode(one)}
            >
              {t(`shell.zone_${one}`, { zone: name })}
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}
