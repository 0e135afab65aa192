import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ToolAudit } from '../../src/audit/judge/judge-tool.js';
import { useTypeScript } from '../../src/audit/code/typescript.js';
import { auditEach, reader } from './programs.js';

const require = createRequire(import.meta.url);
const W = `{ fs.writeFileSync('x', ''); return 'x'; }`;

/** Bodies that write, by what they use to hide it. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  conditions: [
    `if (args.saveTo) fs.writeFileSync(args.saveTo, '');`,
    `switch (args.action) { case 'list': return 1; case 'set': fs.writeFileSync('x', ''); }`,
    `if (args.dryRun) return 'preview'; fs.writeFileSync('x', '');`,
    `if (!args.path.startsWith('/')) throw new Error('bad'); fs.writeFileSync(args.path, '');`,
    `try { fs.readFileSync('x'); } catch { fs.writeFileSync('x', ''); }`,
    `do {} while (fs.writeFileSync('x', '') as never);`,
    `switch (args.x) { case fs.writeFileSync('x', ''): }`,
    `const file = await fs.promises.open(args.path, args.mode); await file.close();`,
  ],
  'conversions of objects': [
    `return \`\${{ toString() ${W} }}\`;`,
    `return 'a' + { toString() ${W} };`,
    `class P { [Symbol.toPrimitive]() ${W} } return \`\${new P()}\`;`,
    `return [{ toString() ${W} }].join();`,
    `return JSON.stringify({ toJSON() ${W} });`,
    `return JSON.stringify({ get a() ${W} });`,
  ],
  iterators: [
    `class I { *[Symbol.iterator]() ${W} } for (const one of new I()) one;`,
    `class I { *[Symbol.iterator]() ${W} } return [...new I()];`,
    `const [a] = { [Symbol.iterator]() { return { next() ${W} }; } } as never; return a;`,
    `for await (const one of { async *[Symbol.asyncIterator]() ${W} }) one;`,
    `await ({ then() ${W} } as never);`,
  ],
  callbacks: [
    `return [2, 1].sort(() => ${W} as never);`,
    `return JSON.parse('{}', () => ${W});`,
    `return new Promise((done) => setTimeout(() => { fs.rmSync('x'); done(1); }, 1));`,
    `return ['x'].map(fs.unlinkSync);`,
    `return Promise.resolve('x').then(fs.promises.unlink);`,
    `const later: (() => void)[] = []; later.push(() => fs.rmSync('x')); return later;`,
  ],
  'Reflect, bind and proxies': [
    `Reflect.apply(fs.writeFileSync, fs, ['x', '']);`,
    `class F { a = fs.writeFileSync('x', ''); } Reflect.construct(F, []);`,
    `Reflect.get(fs, 'writeFileSync')('x', '');`,
    `Function.prototype.call.call(fs.writeFileSync, fs, 'x', '');`,
    `const write = Function.prototype.call.bind(fs.writeFileSync); write(fs, 'x', '');`,
    `const write = fs.writeFileSync.bind(null, 'x'); write('y');`,
    `return new Proxy({} as any, { get() ${W} }).a;`,
  ],
  'replaced built-in functions': [
    `Array.prototype.map = (() => ${W}) as never; return [1].map((one) => one);`,
    `Object.defineProperty(JSON, 'stringify', { value: () => ${W} }); return JSON.stringify(args);`,
  ],
  'computed names': [
    `return (globalThis as any)[args.x]('y');`,
    `const { readFileSync, ...rest } = fs; return rest.writeFileSync('x', '');`,
    `return { ...fs }.writeFileSync('x', '');`,
    `for (const [, f] of Object.entries(fs) as any) f('x');`,
    `return (await import(args.x)).run();`,
    `const t = { f() ${W} }; return t['f']();`,
  ],
  'code in strings': [
    `return new Function('return 1')();`,
    `return ((() => 1) as any).constructor('return 1')();`,
    `setTimeout('1' as never, 1);`,
    `return (process as any).binding('fs').open('x');`,
  ],
  globals: [
    `(globalThis as any).x = 1;`,
    `process.env.X = '1';`,
    `(Object.prototype as any).x = 1;`,
  ],
  'defaults that the input replaces': [
    `const { list = [] } = args; if (Array.isArray(list)) fs.rmSync(list[0]);`,
    `const all = { dry: true, ...args.more }; if (!all.dry) fs.rmSync('x');`,
    `if (!Object.assign({ dry: true }, args.more).dry) fs.rmSync('x');`,
    `const { list = ['status'] } = args; spawn('git', list);`,
    `const list = ['status']; list[0] = args.word ?? ''; spawn('git', list);`,
    `await fetch('https://a.test/x', args.options ?? { method: 'GET' });`,
  ],
  'programs and shells': [
    `exec(args.command);`,
    `exec('git status && rm -rf build');`,
    `exec('ls > files.txt');`,
    `spawn(args.local ? path.join(process.env.SDK!, 'adb') : '/opt/adb', ['install', 'a.apk']);`,
    `spawn('git', ['-C', args.path, 'push']);`,
    `await promisify(execFile)('kubectl', ['config', 'use-context', args.name]);`,
  ],
};

/** Code before a tool, and a body that makes the language run it. */
const RUN_BY_THE_LANGUAGE: readonly (readonly [before: string, body: string])[] = [
  [`const o = { toString() ${W} };`, `return \`\${o}\`;`],
  [`const o = { valueOf() ${W} };`, `return +o > 1;`],
  [`const o = { then() ${W} };`, `await o;`],
  [`class C { static [Symbol.hasInstance]() ${W} }`, `return args instanceof C;`],
  [`class C { toJSON() ${W} } const o = new C();`, `return JSON.stringify({ o });`],
  [`const o = { get a() ${W} };`, `return o['a'];`],
  [`const o = { get a() ${W} };`, `const { a } = o; return a;`],
  [`const o = { get a() ${W} };`, `return { ...o };`],
  [`const o = { get a() ${W} };`, `return Object.assign({}, o);`],
  [`const o = { get a() { fs.writeFileSync('x', ''); return () => 1; } };`, `return o.a();`],
  [`class C { static get a() ${W} }`, `return C.a;`],
  [`const o = { set a(value: number) { fs.rmSync('x'); } };`, `o['a'] = 1;`],
  [`const o = Object.defineProperty({} as any, 'a', { get: () => ${W} });`, `return o.a;`],
  [`const o = new Proxy({} as any, { get: () => ${W} });`, `return o.a;`],
  [`const o = new Proxy(() => 1, { apply: () => ${W} as never });`, `return o();`],
  [
    `const d = (run: any) => () => { fs.rmSync('x'); return run(); }; class C { @d a() {} }`,
    `new C().a();`,
  ],
  [`class C { static n = 0; }`, `return C.n++;`],
  [`function f() {} f.n = 0;`, `return f.n++;`],
  [``, `return Promise.resolve().finally(() => fs.rmSync('x'));`],
];

/** Bodies that change nothing. */
const READERS: readonly string[] = [
  `class Log { add() { fs.rmSync('x'); } } class Repo { constructor(readonly log?: Log) {} get() { this.log?.add(); return 1; } } return new Repo().get();`,
  `const DEBUG = false; if (DEBUG) fs.writeFileSync('x', '');`,
  `const words = ['log', '--oneline']; if (args.n) words.push('-n', args.n); spawn('git', words);`,
  `const request = (url: string, options = {}) => fetch(url, { headers: {}, ...options }); return request('https://a.test');`,
  `const file = path.join(os.tmpdir(), 'x'); fs.writeFileSync(file, ''); const text = fs.readFileSync(file); fs.unlinkSync(file); return text;`,
  `const all: string[] = []; for (const id of args.ids) all.push(id); return all;`,
  `const file = await fs.promises.open(args.path, 'r'); return file.readFile('utf8');`,
  `return new Promise((done, fail) => fs.readFile(args.path, (error, data) => (error ? fail(error) : done(data))));`,
  `return args.names.map((name: string) => name.trim().toLowerCase()).filter(Boolean).join();`,
  `const call = (method: string) => { if (method === 'GET') return fetch('https://a.test'); return fetch('https://a.test', { method }); }; return call('GET');`,
];

describe.each([
  ['the installed TypeScript', 'typescript'],
  ['TypeScript 5.4', 'typescript54'],
  ['TypeScript 5.9', 'typescript59'],
])('with %s', (_, name) => {
  const writers = [
    ...Object.values(WRITERS)
      .flat()
      .map((body) => ['', body] as const),
    ...RUN_BY_THE_LANGUAGE,
  ];
  let found: readonly ToolAudit[];
  beforeAll(async () => {
    useTypeScript(require(name) as never);
    const all = [...writers, ...READERS.map((body) => ['', body] as const)];
    found = await auditEach(all.map(([before, body]) => `${before}\n${reader('a', body)}`));
  });

  it('no readonly tool that writes agrees, however it hides the call', () => {
    expect(writers.filter((__, at) => found[at]!.verdict === 'agrees')).toEqual([]);
  });

  it('tools that only read agree', () => {
    const others = READERS.filter((__, at) => found[writers.length + at]!.verdict !== 'agrees');
    expect(others).toEqual([]);
  });
});
