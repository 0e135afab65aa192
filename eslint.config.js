import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'test/fixtures', 'test/types/{both,standard,legacy}', 'test/legacy', 'test/bench/peers'] },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { varsIgnorePattern: '^_', argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'NewExpression[callee.name="RegExp"], CallExpression[callee.name="RegExp"]',
          message: 'No regular expression is built from text at run time: patterns of users can be made catastrophic.',
        },
      ],
    },
  },
  {
    // The one place: patterns of schemas that the program itself declares or loads run, as zod's do. Those of others do not.
    files: ['src/json-schema/compile-json-schema.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  { files: ['*.js'], ...tseslint.configs.disableTypeChecked },
  {
    files: ['test/**/*.ts'],
    rules: { '@typescript-eslint/no-unsafe-assignment': 'off', '@typescript-eslint/no-unsafe-member-access': 'off', '@typescript-eslint/require-await': 'off' },
  },
);
