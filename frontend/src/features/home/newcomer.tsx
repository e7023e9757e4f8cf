import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CopyButton } from "@/components/copy-button";
import { shellWord } from "@/lib/curl";
import { useT } from "@/lib/i18n";
import classes from "@/features/home/newcomer.module.css";

/** For who has nothing yet: three steps that end in a running slice. */
export function Newcomer() {
  const t = useT();
  const login = `vxpu login --server ${shellWord(location.origin)}`;
  return (
    <section className={classes.newcomer} aria-labelledby="newcomer">
      <h2 id="newcomer" className={classes.title}>
        {t("home.start_title")}
      </h2>
      <ol className={classes.steps}>
        <li className={classes.step}>
          <h3 className={classes.name}>{t("home.start_1")}</h3>
          <p className={classes.text}>{t("home.start_1_text")}</p>
          <Button variant="default" size="xs" renderRoot={(props) => <Link to="/offers" {...props} />}>
            {t("home.start_3_do")}
          </Button>
        </li>
        <li className={classes.step}>
          <h3 className={classes.name}>{t("home.start_2")}</h3>
          <p className={classes.text}>{t("home.start_2_text")}</p>
          <div className={classes.line}>
            <code>{login}</code>
            <CopyButton text={login} label={login} />
          </div>
          <Button variant="default" size="xs" renderRoot={(props) => <Link to="/access" {...props} />}>
            {t("home.start_2_do")}
          </Button>
        </li>
        <li className={classes.step}>
          <h3 className={classes.name}>{t("home.start_3")}</h3>
          <p className={classes.text}>{t("home.start_3_text")}</p>
        </li>
      </ol>
    </section>
  );
}
