import { Button, PasswordInput, SegmentedControl, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { ProblemAlert } from "@/components/problem-alert";
import { api, dataOf, type Schema } from "@/lib/api";
import { useT } from "@/lib/i18n";

type Way = "password" | "token";

/** E-mail and password, or a personal token. */
export function LoginForm({ onEntered }: { onEntered: () => void }) {
  const t = useT();
  const [way, setWay] = useState<Way>("password");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [token, setToken] = useState("");
  const [isChecked, setChecked] = useState(false);
  const logIn = useMutation({
    mutationFn: (body: Schema<"LoginInRequest">) => dataOf(api.POST("/api/v1/session", { body })),
    onSuccess: onEntered,
  });
  const missing = (value: string) => (isChecked && value === "" ? t("session.required") : undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (way === "token" && token.trim() !== "") logIn.mutate({ token: token.trim() });
    if (way === "password" && email.trim() !== "" && password !== "") logIn.mutate({ email: email.trim(), password });
  };
  const choose = (value: string) => {
    setWay(value as Way);
    setChecked(false);
    logIn.reset();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md">
        <SegmentedControl
          fullWidth
          aria-label={t("session.way")}
          value={way}
          onChange={choose}
          data={[
            { value: "password", label: t("session.with_password") },
            { value: "token", label: t("session.with_token") },
          ]}
        />
        {way === "password" ? (
          <>
            <TextInput
              type="email"
              label={t("session.email")}
              autoComplete="username"
              value={email}
              error={missing(email.trim())}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <PasswordInput
              label={t("session.password")}
              autoComplete="current-password"
              value={password}
              error={missing(password)}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
          </>
        ) : (
          <PasswordInput
            label={t("session.token")}
            description={t("session.token_hint")}
            autoComplete="off"
            value={token}
            error={missing(token.trim())}
            onChange={(event) => setToken(event.currentTarget.value)}
          />
        )}
        {logIn.error && <ProblemAlert problem={logIn.error} />}
        <Button type="submit" fullWidth loading={logIn.isPending}>
          {t("session.submit")}
        </Button>
      </Stack>
    </form>
  );
}
