import { MantineProvider } from "@mantine/core";
import { QueryClientProvider, type QueryClient } from "@tanstack/react-query";
import { setNonce } from "get-nonce";
import { lazy, Suspense, type ReactNode } from "react";
import { cssVariables, theme } from "@/app/theme";

const Notes = lazy(() => import("@/app/notes").then((file) => ({ default: file.Notes })));

/** The nonce of this page's Content-Security-Policy: Mantine's own style elements need it. */
function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
}

// What keeps a page still under a dialog (react-remove-scroll) writes a style element of its own.
setNonce(styleNonce());

type ProvidersProps = { queryClient: QueryClient; children: ReactNode };

export function Providers({ queryClient, children }: ProvidersProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        defaultColorScheme="auto"
        getStyleNonce={styleNonce}
      >
        {children}
        <Suspense fallback={null}>
          <Notes />
        </Suspense>
      </MantineProvider>
    </QueryClientProvider>
  );
}
