import { expect, it } from 'vitest';
import { folderOf, HEAD, lint, reader } from './programs.js';

it('the ESLint rule underlines the option that lies, with the path to the call, and unknown tools on request', async () => {
  const cwd = folderOf({
    'tsconfig.json':
      '{ "compilerOptions": { "strict": true, "module": "nodenext", "types": ["node"] }, "include": ["*.ts"] }',
    'store.ts': `import { writeFileSync } from 'node:fs';\nexport const keep = (text: string) => writeFileSync('notes', text);\n`,
    'tools.ts': `${HEAD}import { keep } from './store.js';\n${reader('note', 'keep(args.text);')}${reader('look', `return fs.readFileSync('x');`)}${reader('ask', 'return args.ask();')}`,
  });
  const messages = async (options: object) =>
    (await lint(cwd, 'tools.ts', options)).map(({ line, column, message }) => [
      line,
      column,
      message,
    ]);
  const lie = [
    8,
    48,
    "note declares accessMode: 'readonly', and changes files (fs.writeFileSync). tools.ts:8 → store.ts:2",
  ];
  expect(await messages({})).toEqual([lie]);
  expect(await messages({ unknown: true })).toEqual([
    lie,
    [10, 33, 'ask is unknown: args.ask was not followed.'],
  ]);
});
