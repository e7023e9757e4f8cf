import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";
import { forgetServerDate } from "@/lib/clock";
import { loadLanguage } from "@/lib/i18n";
import { sessionEnd } from "@/lib/session-end";
import { network } from "@/test/network";

// A loaded machine may take its time; a test that passes does not wait for it.
configure({ asyncUtilTimeout: 8_000 });

beforeAll(async () => {
  network.listen({ onUnhandledRequest: "error" });
  await loadLanguage("en");
});

beforeEach(() => {
  // What happy-dom lacks and Mantine asks for.
  window.matchMedia ??= (query: string) =>
    ({ matches: false, media: query, addEventListener: () => undefined, removeEventListener: () => undefined }) as never;
  Element.prototype.scrollIntoView ??= () => undefined;
});

afterEach(() => {
  cleanup();
  network.resetHandlers();
  localStorage.clear();
  sessionStorage.clear();
  sessionEnd.set(null);
  forgetServerDate();
  vi.useRealTimers();
});

afterAll(() => network.close());
