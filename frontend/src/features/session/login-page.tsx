import { Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { LoginForm } from "@/features/session/login-form";
import { useT } from "@/lib/i18n";
import { sessionEnd } from "@/lib/session-end";
import classes from "@/features/session/login-page.module.css";

const route = getRouteApi("/login");

export function LoginPage() {
  const t = useT();
  const { next, why } = route.useSearch();
  const router = useRouter();
  const queries = useQueryClient();
  const product = t("common.product");
  useEffect(() => {
    document.title = `${t("session.title")} · ${product}`;
  }, [t, product]);
  const enter = () => {
    sessionEnd.set(null);
    queries.clear();
    router.history.push(next ?? "/");
  };
  return (
    <main className={classes.page}>
      <div className={classes.card}>
        <div className={classes.brand}>
          <img src={`${import.meta.env.BASE_URL}favicon.svg`} alt="" width={24} height={24} />
          {product}
        </div>
        <h1 style={{ fontSize: 20 }}>{t("session.title")}</h1>
        {why && (
          <p className={classes.why} role="status">
            {t(`session.${why}`)}
          </p>
        )}
        <LoginForm onEntered={enter} />
        <Text size="xs" c="dimmed">
          {t("session.first_time")}
        </Text>
      </div>
    </main>
  );
}
