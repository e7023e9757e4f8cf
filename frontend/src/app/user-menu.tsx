import { ActionIcon, Menu, Text, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Icon } from "@/components/icon";
import { useMe } from "@/hooks/use-me";
import { api, dataOf } from "@/lib/api";
import { chooseLanguage, LANGUAGES, useLanguage, useT, type Language } from "@/lib/i18n";
import { sessionEnd } from "@/lib/session-end";

const SCHEMES: MantineColorScheme[] = ["auto", "light", "dark"];

function Choice({ on, onClick, children }: { on: boolean; onClick: () => void; children: string }) {
  return (
    <Menu.Item
      role="menuitemradio"
      aria-checked={on}
      leftSection={on ? <Icon name="check" size={14} /> : <span style={{ width: 14 }} />}
      onClick={onClick}
    >
      {children}
    </Menu.Item>
  );
}

/** Who I am here, how the console looks to me, and the way out. */
export function UserMenu() {
  const t = useT();
  const me = useMe();
  const language = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const logOut = useMutation({
    mutationFn: () => dataOf(api.DELETE("/api/v1/session")),
    onSuccess: () => sessionEnd.set("signed_out"),
  });
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <ActionIcon variant="default" size={30} aria-label={t("shell.user_menu")}>
          <Icon name="user" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text fw={600} c="var(--mantine-color-text)" dir="auto" truncate>
            {me.name}
          </Text>
          <Text size="xs" c="dimmed" truncate>
            {me.email}
          </Text>
          <Text size="xs" c="dimmed" dir="auto" truncate>
            {me.is_operator ? `${me.tenant.name} · ${t("shell.operator")}` : me.tenant.name}
          </Text>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Label>{t("shell.language")}</Menu.Label>
        {(Object.keys(LANGUAGES) as Language[]).map((one) => (
          <Choice key={one} on={one === language} onClick={() => void chooseLanguage(one)}>
            {LANGUAGES[one]}
          </Choice>
        ))}
        <Menu.Divider />
        <Menu.Label>{t("shell.scheme")}</Menu.Label>
        {SCHEMES.map((one) => (
          <Choice key={one} on={one === colorScheme} onClick={() => setColorScheme(one)}>
            {t(`shell.scheme_${one}`)}
          </Choice>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="logOut" />} onClick={() => logOut.mutate()}>
          {t("shell.log_out")}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
