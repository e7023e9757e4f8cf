import "@/app/mantine.css";
import "@/app/global.css";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Providers } from "@/app/providers";
import { createAppRouter } from "@/app/router";
import { SessionWatch } from "@/app/session-watch";
import { loadLanguage, preferredLanguage } from "@/lib/i18n";
import { createQueryClient } from "@/lib/query-client";

const queryClient = createQueryClient();
const router = createAppRouter(queryClient);

function rootElement(): HTMLElement {
  const element = document.getElementById("root");
  if (!element) throw new Error("index.html has no #root");
  return element;
}

async function start(): Promise<void> {
  await loadLanguage(preferredLanguage());
  createRoot(rootElement()).render(
    <StrictMode>
      <Providers queryClient={queryClient}>
        <RouterProvider router={router} />
        <SessionWatch router={router} />
      </Providers>
    </StrictMode>,
  );
}

void start();
