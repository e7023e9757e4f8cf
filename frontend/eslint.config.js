import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";
import { layers } from "./scripts/layers.js";

const exported = {
  restrictDefaultExports: { direct: true, named: true, defaultFrom: true, namedFrom: true, namespaceFrom: true },
};

export default tseslint.config(
  { ignores: ["dist/", "node_modules/", "src/lib/schema.d.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strict,
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "jsx-a11y": a11y, "react-hooks": hooks, house: { rules: { layers } } },
    rules: {
      ...a11y.flatConfigs.strict.rules,
      ...hooks.configs.recommended.rules,
      "house/layers": "error",
      "no-restricted-exports": ["error", exported],
      "no-restricted-syntax": [
        "error",
        { selector: "ExportAllDeclaration", message: "No barrels: import from the file that has it." },
      ],
      "max-lines": ["error", { max: 250, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 150, skipBlankLines: true, skipComments: true }],
      "no-console": "error",
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", destructuredArrayIgnorePattern: "^_" },
      ],
      // It warns of what React Compiler would skip; we build without it.
      "react-hooks/incompatible-library": "off",
      // A table whose rows take arrow keys is a grid.
      "jsx-a11y/no-noninteractive-element-to-interactive-role": ["error", { table: ["grid"], tr: ["row"] }],
      // A region that scrolls must be reachable for the keyboard; so must a code line to copy by hand.
      "jsx-a11y/no-noninteractive-tabindex": ["error", { tags: ["pre"], roles: ["tabpanel", "region", "group"] }],
    },
  },
  { files: ["scripts/**/*.js"], languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly" } } },
  // Words, one a line.
  { files: ["src/i18n/**"], rules: { "max-lines": "off" } },
  { files: ["src/**/*.test.{ts,tsx}"], rules: { "max-lines-per-function": "off" } },
);
