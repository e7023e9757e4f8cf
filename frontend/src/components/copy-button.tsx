import { ActionIcon, VisuallyHidden } from "@mantine/core";
import { useCopy } from "@/hooks/use-copy";
import { useT } from "@/lib/i18n";
import { Hint } from "@/components/hint";
import { Icon } from "@/components/icon";

type CopyButtonProps = { text: string; /** What is copied, for readers that do not see. */ label: string };

export function CopyButton({ text, label }: CopyButtonProps) {
  const t = useT();
  const [state, copy] = useCopy();
  const word = { idle: t("common.copy"), copied: t("common.copied"), failed: t("common.copy_failed") }[state];
  return (
    <>
      <Hint text={word} around>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={24}
          aria-label={`${t("common.copy")} ${label}`}
          onClick={() => copy(text)}
        >
          <Icon name={state === "copied" ? "check" : state === "failed" ? "warning" : "copy"} size={14} />
        </ActionIcon>
      </Hint>
      <VisuallyHidden role="status">{state === "idle" ? "" : word}</VisuallyHidden>
    </>
  );
}
