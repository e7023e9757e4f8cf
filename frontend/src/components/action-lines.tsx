import { useT } from "@/lib/i18n";
import { CopyButton } from "@/components/copy-button";
import { Icon } from "@/components/icon";
import classes from "@/components/action-lines.module.css";

type ActionLinesProps = { /** The command; left out where the command line has none. */ vxpu?: string; curl: string };

function Line({ name, text }: { name: string; text: string }) {
  return (
    <div>
      <div className={classes.name}>{name}</div>
      <div className={classes.line}>
        <pre className={classes.code}>{text}</pre>
        <CopyButton text={text} label={name} />
      </div>
    </div>
  );
}

/** The same action from a terminal. */
export function ActionLines({ vxpu, curl }: ActionLinesProps) {
  const t = useT();
  return (
    <details className={classes.lines}>
      <summary className={classes.summary}>
        <Icon name="terminal" size={14} />
        {t("common.actions_title")}
      </summary>
      <div className={classes.body}>
        {vxpu && <Line name={t("common.action_vxpu")} text={vxpu} />}
        <Line name={t("common.action_curl")} text={curl} />
      </div>
    </details>
  );
}
