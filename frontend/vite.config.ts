import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The server of the stack that `npm run dev` talks to.
const server = process.env["VXPU_SERVER"] ?? "http://127.0.0.1:8000";

export default defineConfig(({ command }) => ({
  // Everything built lies under one prefix; the pages themselves start at `/`, and so does the development server.
  base: command === "build" ? "/ui/" : "/",
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("src", import.meta.url)) } },
  // Django replaces the placeholder by the nonce of the answer's Content-Security-Policy.
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    manifest: true,
    target: "es2022",
    sourcemap: false,
    // No data: addresses for fonts or scripts; small images stay files too.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
  server: {
    strictPort: false,
    // The server takes what changes something from its own origin only.
    proxy: { "/api": { target: server, changeOrigin: true, headers: { origin: server }, ws: true } },
  },
  test: {
    environment: "happy-dom",
    environmentOptions: { happyDOM: { url: "http://localhost/" } },
    setupFiles: ["src/test/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}", "scripts/**/*.test.ts"],
    css: false,
    restoreMocks: true,
    unstubGlobals: true,
    testTimeout: 45_000,
    // Times on screen are told in a named zone, never in the machine's.
    env: { TZ: "Europe/Berlin", DEBUG_PRINT_LIMIT: "0" },
  },
}));
