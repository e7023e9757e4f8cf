import { Tabs } from "@mantine/core";
import "@mantine/core/styles/Tabs.layer.css";
import { useSearchText } from "@/hooks/use-search-text";
import { MembersPanel } from "@/features/access/members-panel";
import { PasswordPanel } from "@/features/access/password-panel";
import { SessionsPanel } from "@/features/access/sessions-panel";
import { TokensPanel } from "@/features/access/tokens-panel";
import { Page } from "@/components/page";
import { may, useMe } from "@/hooks/use-me";
import { useT } from "@/lib/i18n";

const TABS = ["tokens", "members", "sessions", "password"] as const;

/** Who and what may act here: tokens, members, open log-ins, the own password. */
export function AccessPage() {
  const t = useT();
  const me = useMe();
  const [asked, setTab] = useSearchText("tab");
  const shown = TABS.filter((tab) => tab !== "members" || may(me, "identity:read"));
  const tab = shown.find((one) => one === asked) ?? "tokens";
  return (
    <Page title={t("access.title")}>
      <Tabs value={tab} onChange={(next) => setTab(next === "tokens" ? "" : (next ?? ""))} keepMounted={false}>
        <Tabs.List aria-label={t("access.title")} mb="lg">
          {shown.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`access.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="tokens">
          <TokensPanel />
        </Tabs.Panel>
        <Tabs.Panel value="members">
          <MembersPanel />
        </Tabs.Panel>
        <Tabs.Panel value="sessions">
          <SessionsPanel />
        </Tabs.Panel>
        <Tabs.Panel value="password">
          <PasswordPanel />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
