import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useT, type Translate } from "@/lib/i18n";
import { toProblem, type Problem } from "@/lib/problem";
import { formatDuration } from "@/lib/units";
import { Icon } from "@/components/icon";
import { Id } from "@/components/id";

type ProblemAlertProps = { /** Whatever was thrown. */ problem: unknown; retry?: () => void };

type Words = { title: string; detail: string; suggestion: string };

/** The server's own words; ours where it could not say any. */
function wordsOf(problem: Problem, t: Translate): Words {
  switch (problem.code) {
    case "unreachable":
      return {
        title: t("problem.unreachable"),
        detail: t("problem.unreachable_detail"),
        suggestion: t("problem.unreachable_suggestion"),
      };
    case "unexpected_answer":
      return {
        title: t("problem.unexpected_answer"),
        detail: t("problem.unexpected_answer_detail", { status: String(problem.status) }),
        suggestion: t("problem.unexpected_answer_suggestion"),
      };
    case "client_error":
      return { title: t("problem.client_error"), detail: problem.detail, suggestion: t("problem.client_error_suggestion") };
    default:
      return {
        title: problem.title || problem.code,
        detail: problem.detail,
        suggestion: problem.suggestion || t("problem.no_suggestion"),
      };
  }
}

/** What happened, why, what to do next, and the id to quote to an operator. */
export function ProblemAlert({ problem: thrown, retry }: ProblemAlertProps) {
  const t = useT();
  const problem = toProblem(thrown);
  const words = wordsOf(problem, t);
  return (
    <Alert role="alert" color="red" variant="outline" icon={<Icon name="warning" size={20} />} title={words.title}>
      <Stack gap={4}>
        {words.detail && <Text>{words.detail}</Text>}
        {problem.errors.map((error, index) => (
          <Text key={index} size="xs">
            {error.pointer ? `${error.pointer.replace(/^[#/]+/, "")}: ` : ""}
            {error.detail}
          </Text>
        ))}
        <Text>{words.suggestion}</Text>
        {problem.retry_after_s !== null && (
          <Text>{t("problem.retry_after", { time: formatDuration(problem.retry_after_s) })}</Text>
        )}
        <Group gap="md">
          {retry && (
            <Button size="xs" variant="default" onClick={retry}>
              {t("common.retry")}
            </Button>
          )}
          {problem.request_id && (
            <Group gap={4}>
              <Text size="xs" c="dimmed">
                {t("problem.request")}
              </Text>
              <Id value={problem.request_id} />
            </Group>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}
