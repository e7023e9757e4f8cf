import { Button, Tabs } from "@mantine/core";
import "@mantine/core/styles/Tabs.layer.css";
import { useState } from "react";
import { MembersPanel } from "@/features/access/members-panel";
import { PasswordPanel } from "@/features/access/password-panel";
import { SessionsPanel } from "@/features/access/sessions-panel";
import { TokensPanel } from "@/features/access/tokens-panel";
import { Icon } from "@/components/icon";
import { Page } from "@/components/page";
import { may, useMe } from "@/hooks/use-me";
import { useSearchText } from "@/hooks/use-search-text";
import { useT } from "@/lib/i18n";

const TABS = ["tokens", "members", "sessions", "password"] as const;

/** Who and what may act here: tokens, members, open log-ins, the own password. */
export function AccessPage() {
  const t = useT();
  const me = useMe();
  const [asked, setTab] = useSearchText("tab");
  const [isAsking, setAsking] = useState(false);
  const shown = TABS.filter((tab) => tab !== "members" || may(me, "identity:read"));
  const tab = shown.find((one) => one === asked) ?? "tokens";
  const action = {
    tokens: t("access.new_token"),
    members: may(me, "identity:write") ? t("access.add_member") : null,
    sessions: null,
    password: null,
  }[tab];
  const primary = action && (
    <Button leftSection={<Icon name="plus" />} onClick={() => setAsking(true)}>
      {action}
    </Button>
  );
  const done = () => setAsking(false);
  return (
    <Page title={t("access.title")} primary={primary}>
      <Tabs value={tab} onChange={(next) => setTab(next === "tokens" ? "" : (next ?? ""))} keepMounted={false}>
        <Tabs.List aria-label={t("access.title")} mb="lg">
          {shown.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`access.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="tokens">
          <TokensPanel isMaking={isAsking} onMade={done} />
        </Tabs.Panel>
        <Tabs.Panel value="members">
          <MembersPanel isAdding={isAsking} onAdded={done} />
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
