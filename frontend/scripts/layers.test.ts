import path from "node:path";
import { describe, expect, it } from "vitest";
// @ts-expect-error -- plain JavaScript, for eslint to load
import { offence, targetOf } from "./layers.js";

const at = (file: string) => path.resolve("src", file);

describe("the layers of the front end", () => {
  it.each([
    ["features/offers/page.tsx", "features/reserve/form", /Feature offers must not import feature reserve/],
    ["lib/api.ts", "hooks/use-me", /src\/lib must not import src\/hooks/],
    ["components/id.tsx", "features/offers/page", /must not import/],
    ["features/offers/page.tsx", "app/router", /must not import/],
    ["lib/api.ts", "test/network", /Only tests/],
  ])("%s may not import %s", (importer, target, message) => expect(offence(at(importer), at(target))).toMatch(message));

  it.each([
    ["features/offers/page.tsx", "features/offers/card"],
    ["features/offers/page.tsx", "components/page"],
    ["app/router.tsx", "features/offers/page"],
    ["lib/i18n.ts", "i18n/en/catalog"],
    ["lib/api.test.ts", "test/network"],
  ])("%s may import %s", (importer, target) => expect(offence(at(importer), at(target))).toBeNull());

  it("sees through aliases and relative paths, and leaves packages alone", () => {
    expect(targetOf(at("features/a/x.ts"), "../b/y")).toBe(at("features/b/y"));
    expect(targetOf(at("features/a/x.ts"), "@/lib/api")).toBe(at("lib/api"));
    expect(targetOf(at("features/a/x.ts"), "react")).toBeNull();
  });
});
