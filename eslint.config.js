import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** The words with which a doc comment begins in the middle of a sentence: verbs in the third person and nouns remain. */
const DANGLING = new Set(
  [
    'Whether What Whatever Who Whom Whose How Why When Whenever Where Wherever Which Whichever If Unless Because Since Until While',
    'Than So Then There Here And Or But Not Only Also Even Of As To By In Into At On For From With Without Within Under Over Above',
    'Below After Before Inside Outside Beside During Through Like About Per Off It Its They Their We You This That These Those None',
    'Nothing Something Anything Everything Somebody Anybody Everybody Nobody Somewhere Several Is Are Was Always Never Once Twice',
    'Told Called Offered Given Known Derived Used Tried Wrapped Chosen Found Made Kept Taken Asked Shared Stored Declared Imported',
    'Inferred Rounded Forbidden Connecting Set Put Leave Refuse See Use',
  ].flatMap((line) => line.split(' ')),
);

/** Rules of the project itself. */
const tooldex = {
  rules: {
    'doc-comment': {
      meta: { type: 'suggestion', schema: [] },
      create: ({ sourceCode, report }) => ({
        Program() {
          for (const comment of sourceCode.getAllComments()) {
            if (comment.type !== 'Block' || !comment.value.startsWith('*')) continue;
            const [word] = /[^\s*,;:.]+/u.exec(comment.value) ?? [''];
            if (DANGLING.has(word) || /^[a-z]/u.test(word))
              report({
                loc: comment.loc,
                message: `Expected a doc comment that begins with a verb in the third person or a noun, got "${word} …". Write a whole sentence.`,
              });
          }
        },
      }),
    },
  },
};

export default tseslint.config(
  {
    ignores: [
      'dist',
      'node_modules',
      'docs/examples',
      'docs/reference',
      'docs/.vitepress/{cache,dist}',
      'test/fixtures',
      'test/types/{both,exported,javascript,standard,legacy}',
      'test/legacy',
      'test/bench/peers',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { varsIgnorePattern: '^_', argsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'NewExpression[callee.name="RegExp"], CallExpression[callee.name="RegExp"]',
          message:
            'No regular expression is built from text at run time: patterns of users can be made catastrophic.',
        },
      ],
    },
  },
  {
    // The one place: patterns of schemas that the program itself declares or loads run, as zod's do. Those of others do not.
    files: ['src/json-schema/compile-json-schema.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    // The folders whose doc comments are whole sentences; the list only grows.
    files: [
      'src/{capability,chat,cli,core,execution,host,http,interop,json-schema,mcp,providers,registry,safety,search,selection,state,testing,tool}/**/*.ts',
      'tools/**/*.ts',
    ],
    plugins: { tooldex },
    rules: { 'tooldex/doc-comment': 'error' },
  },
  {
    files: ['*.js', '.ci/*.mjs', 'docs/{.vitepress,scripts}/**/*.js'],
    ...tseslint.configs.disableTypeChecked,
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
);
