import { useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { Icon } from "@/components/icon";
import { Choices, Popup } from "@/components/popup";
import { ProblemAlert } from "@/components/problem-alert";
import { useMe } from "@/hooks/use-me";
import { api, dataOf } from "@/lib/api";
import { chooseLanguage, LANGUAGES, useLanguage, useT, type Language } from "@/lib/i18n";
import { sessionEnd } from "@/lib/session-end";
import classes from "@/app/shell.module.css";

const SCHEMES: MantineColorScheme[] = ["auto", "light", "dark"];

/** Who I am here, how the console looks to me, and the way out. */
export function UserMenu() {
  const t = useT();
  const me = useMe();
  const language = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const logOut = useMutation({
    mutationFn: () => dataOf(api.DELETE("/api/v1/session")),
    onSuccess: () => sessionEnd.set("signed_out"),
    onError: (problem) => notifications.show({ message: <ProblemAlert problem={problem} />, autoClose: false }),
  });
  return (
    <Popup label={t("shell.user_menu")} face={<Icon name="user" />} className={classes.button} align="end">
      {() => (
        <>
          <div className={classes.who}>
            <strong dir="auto">{me.name}</strong>
            <span>{me.email}</span>
            <span dir="auto">{me.is_operator ? `${me.tenant.name} · ${t("shell.operator")}` : me.tenant.name}</span>
          </div>
          <Choices
            legend={t("shell.language")}
            value={language}
            options={(Object.keys(LANGUAGES) as Language[]).map((one) => ({ value: one, word: LANGUAGES[one] }))}
            onChange={(chosen) => void chooseLanguage(chosen)}
          />
          <Choices
            legend={t("shell.scheme")}
            value={colorScheme}
            options={SCHEMES.map((one) => ({ value: one, word: t(`shell.scheme_${one}`) }))}
            onChange={setColorScheme}
          />
          <button type="button" className={classes.item} disabled={logOut.isPending} onClick={() => logOut.mutate()}>
            <Icon name="logOut" />
            {t("shell.log_out")}
          </button>
        </>
      )}
    </Popup>
  );
}
