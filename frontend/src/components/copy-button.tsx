import { ActionIcon, Tooltip, VisuallyHidden } from "@mantine/core";
import { useCopy } from "@/hooks/use-copy";
import { useT } from "@/lib/i18n";
import { Icon } from "@/components/icon";

type CopyButtonProps = { text: string; /** What is copied, for readers that do not see. */ label: string };

export function CopyButton({ text, label }: CopyButtonProps) {
  const t = useT();
  const [state, copy] = useCopy();
  const word = { idle: t("common.copy"), copied: t("common.copied"), failed: t("common.copy_failed") }[state];
  return (
    <>
      <Tooltip label={word} opened={state === "idle" ? undefined : true}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={24}
          aria-label={`${t("common.copy")} ${label}`}
          onClick={() => copy(text)}
        >
          <Icon name={state === "copied" ? "check" : state === "failed" ? "warning" : "copy"} size={14} />
        </ActionIcon>
      </Tooltip>
      <VisuallyHidden role="status">{state === "idle" ? "" : word}</VisuallyHidden>
    </>
  );
}
