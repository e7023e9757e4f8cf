import { afterEach, describe, expect, it } from "vitest";
import { en } from "@/i18n/en/catalog";
import { zh } from "@/i18n/zh/catalog";
import { loadLanguage, translate } from "@/lib/i18n";

type Tree = { readonly [name: string]: string | Tree };
const flat = (tree: Tree, prefix = ""): [string, string][] =>
  Object.entries(tree).flatMap(([name, value]) =>
    typeof value === "string" ? [[prefix + name, value] as [string, string]] : flat(value, `${prefix}${name}.`),
  );
const holes = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

afterEach(() => loadLanguage("en"));

describe("messages", () => {
  it("choose the plural by the number", () => {
    expect([translate("common.rows", { n: 1 }), translate("common.rows", { n: 1200 })]).toEqual(["1 row", "1,200 rows"]);
  });

  it("speak the chosen language and say so to the browser", async () => {
    await loadLanguage("zh");
    expect(translate("shell.log_out")).toBe("退出登录");
    expect(document.documentElement.lang).toBe("zh-Hans");
  });

  it("have the same holes in both languages", () => {
    const chinese = new Map(flat(zh));
    for (const [key, text] of flat(en)) {
      const other = chinese.get(key);
      if (other !== undefined) expect([key, holes(other)]).toEqual([key, holes(text)]);
    }
  });

  it("are never empty", () => {
    for (const [key, text] of [...flat(en), ...flat(zh)]) expect([key, text.trim()]).not.toEqual([key, ""]);
  });
});
