import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["client/dist/", "bundled/", ".build/", ".venv*/", "node_modules/", "*.mjs"] },
  {
    files: ["client/**/*.ts", "tests/e2e/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      eqeqeq: "error",
    },
  },
  {
    // node:test's `test` returns a promise that the runner awaits by itself.
    files: ["client/test/**/*.ts", "tests/e2e/**/*.ts"],
    rules: { "@typescript-eslint/no-floating-promises": "off" },
  },
);
