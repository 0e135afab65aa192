import { describe, expect, it } from 'vitest';
import type { ToolAudit } from '../../src/audit/judge/judge-tool.js';
import { auditEach, audits, HEAD, reader } from './programs.js';

const messages = ({ findings }: ToolAudit) => findings.map(({ message }) => message);
const tool = (name: string, metadata: string, body: string) =>
  `export const ${name} = defineTool({ name: '${name}', ${metadata}, execute: async (args: any, context: any) => { ${body} } });\n`;
/** One program for all lists of tools: loading it takes most of the time. */
const sources: string[] = [];
let audited: ReturnType<typeof auditEach> | undefined;
/** Adds sources to the common program. Returns a function that returns what the audit says about them. */
function inOneProgram(codes: readonly string[]) {
  const from = sources.length;
  sources.push(...codes);
  return async () => (await (audited ??= auditEach(sources))).slice(from, from + codes.length);
}
const POST = `await fetch('https://a.test/items', { method: 'POST', body: '{}' });`;

describe('a lie', () => {
  it('names the option, the call, and the path to it', async () => {
    const { note } = await audits({
      'store.ts': `import { writeFile } from 'node:fs/promises';\nexport class Store {\n  async save(text: string) { await writeFile('notes.txt', text); }\n}\n`,
      'tools.ts': `${HEAD}import { Store } from './store.js';\nconst store = new Store();\nconst keep = (text: string) => store.save(text);\n${reader('note', 'return keep(args.text);')}`,
    });
    expect(note).toMatchObject({
      verdict: 'lies',
      at: 'tools.ts:10',
      findings: [
        {
          axis: 'accessMode',
          message: "declares accessMode: 'readonly', and changes files (fs.writeFile)",
          effect: { at: 'store.ts:3', via: ['tools.ts:10', 'tools.ts:9'] },
        },
      ],
    });
  });

  const LIES = [
    [
      'a deletion with low danger',
      `accessMode: 'write', dangerLevel: 'low'`,
      `fs.rmSync('x');`,
      'dangerLevel',
    ],
    [
      'a cache on a write',
      `accessMode: 'write', dangerLevel: 'medium', cacheTtlMs: 1000`,
      POST,
      'cacheTtlMs',
    ],
    [
      'a cache on the time',
      `accessMode: 'readonly', cacheTtlMs: 1000`,
      `return Date.now();`,
      'cacheTtlMs',
    ],
    [
      'an idempotency key that is never used',
      `accessMode: 'write', idempotencyKey: true`,
      POST,
      'idempotencyKey',
    ],
    [
      'a request of a tool that sends nowhere',
      `accessMode: 'write', sends: 'nowhere'`,
      POST,
      'sends',
    ],
    [
      'a request of a tool that reads nothing',
      `accessMode: 'readonly', reads: []`,
      `return (await fetch('https://a.test')).json();`,
      'reads',
    ],
    [
      'a write of a tool without side effects',
      `sideEffects: ['none']`,
      `fs.writeFileSync('x', '');`,
      'sideEffects',
    ],
    [
      'a request of a tool with local effects',
      `accessMode: 'write', sideEffects: ['filesystem']`,
      POST,
      'sideEffects',
    ],
  ] as const;
  const liars = inOneProgram(LIES.map(([, metadata, body]) => tool('a', metadata, body)));
  it('is reported for each option that the code contradicts', async () => {
    const found = await liars();
    const seen = found.map(({ findings }, at) => [
      LIES[at]![0],
      ...findings.map(({ kind, axis }) => `${kind} ${axis}`),
    ]);
    expect(seen).toEqual(LIES.map(([title, , , axis]) => [title, `lies ${axis}`]));
  });

  const HONEST = [
    [
      'a key that is passed on',
      `accessMode: 'write', idempotencyKey: true`,
      `await fetch('https://a.test', { method: 'POST', headers: { key: context.idempotencyKey } });`,
    ],
    [
      'a deletion with medium danger',
      `accessMode: 'write', dangerLevel: 'medium'`,
      `fs.rmSync('x');`,
    ],
    [
      'a cache on a read',
      `accessMode: 'readonly', cacheTtlMs: 1000`,
      `return fs.readFileSync('x');`,
    ],
  ] as const;
  const honest = inOneProgram(HONEST.map(([, metadata, body]) => tool('a', metadata, body)));
  it("isn't reported for an honest declaration", async () => {
    const found = await honest();
    expect(found.map((each) => [each.verdict, messages(each)])).toEqual(
      HONEST.map(() => ['agrees', []]),
    );
  });
});

describe('memory', () => {
  const verdictsOf = (rows: readonly (readonly [string, string, string])[]) => {
    const found = inOneProgram(rows.map(([, before, body]) => `${before}\n${reader('a', body)}`));
    return async () => (await found()).map(({ verdict }, at) => [rows[at]![0], verdict]);
  };
  const STATE = [
    [
      'a list that is read',
      `const notes: string[] = [];`,
      `notes.push(args.text); return notes.length;`,
    ],
    ['a counter in the answer', `let calls = 0;`, `calls++; return { calls };`],
    [
      'a field of an object',
      `class S { list: string[] = []; add(x: string) { this.list.push(x); return this.list.length; } } const s = new S();`,
      `return s.add(args.x);`,
    ],
    [
      'the value in a Map',
      `const all = new Map<string, { n: number }>();`,
      `const one = all.get(args.id)!; one.n = 2; return one;`,
    ],
    [
      'a counter that is computed from its last value',
      `const counts = new Map<string, number>(); const next = (n: number) => n + 1;`,
      `let n = counts.get(args.id); if (!n) n = 0; n = next(n); counts.set(args.id, n); return [...counts];`,
    ],
    ['something injected', ``, `context.db.list.push(args.x); return context.db.list;`],
    [
      'a counter in a Map',
      `const counts = new Map<string, number>();`,
      `counts.set(args.id, (counts.get(args.id) ?? 0) + 1); return [...counts];`,
    ],
  ] as const;
  const seen = verdictsOf(STATE);
  it('that later calls see counts', async () => {
    expect(await seen()).toEqual(STATE.map(([title]) => [title, 'lies']));
  });
  const UNSEEN = [
    ['a variable that nothing reads', `let last = 0;`, `last = Date.now();`],
    [
      'a client that is made once',
      `let client: { at: number } | undefined;`,
      `client ??= { at: 1 }; return client.at;`,
    ],
    [
      'a cache',
      `const cache = new Map<string, unknown>();`,
      `const hit = cache.get(args.id); if (hit) return hit; const value = await (await fetch('https://a.test')).json(); cache.set(args.id, value); return value;`,
    ],
    [
      'a cache that is filled after a look',
      `const cache = new Map<string, Promise<unknown>>();`,
      `let hit = cache.get(args.id); if (!hit) { hit = fetch('https://a.test'); cache.set(args.id, hit); } return hit;`,
    ],
    [
      'a WeakMap',
      `const seen = new WeakMap<object, number>(); const key = {};`,
      `seen.set(key, 1); return seen.get(key);`,
    ],
  ] as const;
  const unseen = verdictsOf(UNSEEN);
  it("that no call can tell doesn't count", async () => {
    expect(await unseen()).toEqual(UNSEEN.map(([title]) => [title, 'agrees']));
  });
});

describe('an unknown tool', () => {
  it('names the call that stands in the way, until you say what it does', async () => {
    const files = {
      'a.ts': `${HEAD}import { ledger } from 'ledger-client';\n${reader('sync', 'return ledger.sync();')}${reader('status', `return spawn('deployctl', ['status']);`)}`,
    };
    const before = await audits(files);
    expect([before['sync']!.verdict, before['sync']!.unknowns[0]!.call]).toEqual([
      'unknown',
      'ledger-client.ledger.sync',
    ]);
    expect(before['status']!.verdict).toBe('unknown');
    const after = await audits(files, {
      known: { calls: { 'ledger-client.sync': 'write' }, programs: { 'deployctl status': 'read' } },
    });
    expect([after['sync']!.verdict, after['status']!.verdict]).toEqual(['lies', 'agrees']);
  });

  const OPEN = [
    [
      'an option that is computed',
      `export const a = defineTool({ name: 'a', accessMode: process.env.MODE as 'readonly', execute: () => 1 });`,
    ],
    [
      'an option with a value that it cannot have',
      `export const a = defineTool({ name: 'a', accessMode: 'destructive' as 'readonly', execute: () => 1 });`,
    ],
    [
      'code that only has a type',
      `declare function outside(): number;\n${reader('a', 'return outside();')}`,
    ],
    [
      'one of several functions',
      `import { save } from './gone.js';\n${reader('a', 'return [args].map(save);')}`,
    ],
    [
      'a method that a decorator replaces',
      `import { tool } from 'tooldex';
const log = (run: any) => function (this: unknown) { fs.appendFileSync('log', ''); return run.call(this); };
export class Kit { @log @tool({ name: 'a', accessMode: 'readonly' }) a() { return 1; } }`,
    ],
    [
      'a method of an interface without classes',
      `interface Repo { all(): string[] }\n${reader('a', 'return (context.repo as Repo).all();')}`,
    ],
  ] as const;
  const open = inOneProgram(OPEN.map(([, code]) => code));
  it("is one whose declaration or calls the code doesn't show", async () => {
    const found = await open();
    expect(found.map(({ verdict }, at) => [OPEN[at]![0], verdict])).toEqual(
      OPEN.map(([title]) => [title, 'unknown']),
    );
  });
});

const modest = inOneProgram([tool('a', `accessMode: 'write'`, `return fs.readFileSync('x');`)]);
it('a tool that declares more than it does agrees, and is told so', async () => {
  const [a] = await modest();
  expect([a!.verdict, messages(a!)]).toEqual([
    'agrees',
    ["declares accessMode: 'write', and only reads"],
  ]);
});
