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

/** Phrases that make a sentence read like a translation, with a better way to say each. Lint finds them in doc comments. */
const PHRASES = [
  [/\b(?:what|that|which|who) (?:is|are|was|were) no(?:ne)?\b/, 'say what it is'],
  [
    /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b|such\b)[a-z]+\b/,
    '"isn\'t a …" or "has no …"',
  ],
  [/\bfor what (?:is|are|has|cannot)\b/, 'name the noun'],
  [
    /, got (?:another|others|none|it alone|one that|one without|more|parts|both|either)\b/,
    'say what came',
  ],
  [/\b(?:inside|outside) of\b/, '"inside" or "outside"'],
  [
    /\botherwise than\b|\b(?:written|spelt|declared|decided|said|named) otherwise\b/,
    '"differently"',
  ],
  [/\bso many\b/, 'the number, or "at most"'],
  [/\bto the leaves\b/, '"deeply"'],
  [/\b(?:is|are) (?:a )?findings?\b/, '"is reported"'],
  [/\bin any case\b/, '"case-insensitively" or "always"'],
  [/\bof which\b/, 'two sentences'],
  [/\bones? left out\b/, '"missing"'],
  [/\bmeanwhile\b|\bfor good\b|\b(?:is|are) got\b/, 'another word'],
  [/;[^.;]*;/, 'separate sentences'],
];
/** Words of one sentence. */
const LONGEST_SENTENCE = 35;

/** Returns what is wrong with the wording of a doc comment, or undefined. */
function wordingOf(comment) {
  const prose = comment
    .replace(/```[\s\S]*?```|`[^`]*`/g, 'x')
    .replace(/^\s*\*[ ]?/gm, '')
    .replace(/@(?:throws|param|returns|default)\b/g, '. ');
  for (const sentence of prose.split(/(?<=[.!?:])\s+|\n\s*\n|\n\s*[-|*]/)) {
    const found = PHRASES.find(([pattern]) => pattern.test(sentence));
    if (found !== undefined)
      return `"${found[0].exec(sentence)[0].trim()}" reads like a translation: try ${found[1]}.`;
    const { length } = sentence.split(/\s+/).filter((word) => /\w/.test(word));
    if (length > LONGEST_SENTENCE)
      return `A sentence of ${length} words. Split it after at most ${LONGEST_SENTENCE}.`;
  }
  return undefined;
}

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
                message: `Begin the doc comment with a verb in the third person or a noun, not with "${word} …".`,
              });
            const wording = wordingOf(comment.value);
            if (wording !== undefined) report({ loc: comment.loc, message: wording });
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
