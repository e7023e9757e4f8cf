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
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
    },
  },
  { files: ["scripts/**/*.js"], languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly" } } },
  { files: ["src/**/*.test.{ts,tsx}"], rules: { "max-lines-per-function": "off" } },
);
