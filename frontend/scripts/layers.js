// House rule: app > features > components > hooks > lib > i18n; a feature never imports another one.
import path from "node:path";
import { fileURLToPath } from "node:url";

const ORDER = ["i18n", "lib", "hooks", "components", "features", "app"];
// `test` may see everything and is seen by tests only.
const source = path.join(path.dirname(fileURLToPath(import.meta.url)), "../src");

/** The address of an import below src, or null for a package. */
export function targetOf(importer, specifier) {
  if (specifier.startsWith("@/")) return path.join(source, specifier.slice(2));
  if (specifier.startsWith(".")) return path.resolve(path.dirname(importer), specifier);
  return null;
}

/** What is wrong with `importer` importing `target`, or null. */
export function offence(importer, target) {
  const [from, fromFeature] = path.relative(source, importer).split(path.sep);
  const [to, toFeature] = path.relative(source, target).split(path.sep);
  if (from === "test" || /\.test\.tsx?$/.test(importer)) return null;
  if (to === "test") return "Only tests import src/test.";
  if (!ORDER.includes(from) || !ORDER.includes(to)) return null;
  if (from === "features" && to === "features" && fromFeature !== toFeature) {
    return `Feature ${fromFeature} must not import feature ${toFeature}: move the shared part down.`;
  }
  if (ORDER.indexOf(to) > ORDER.indexOf(from)) return `src/${from} must not import src/${to}.`;
  return null;
}

/** @type {import("eslint").Rule.RuleModule} */
export const layers = {
  meta: { type: "problem", schema: [] },
  create(context) {
    const check = (node) => {
      if (!node.source || typeof node.source.value !== "string") return;
      const target = targetOf(context.filename, node.source.value);
      const message = target && offence(context.filename, target);
      if (message) context.report({ node, message });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
    };
  },
};
