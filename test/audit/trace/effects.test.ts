import { describe, expect, it } from 'vitest';
import { changes, trace } from './subject.js';

const HEAD = `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { exec, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
const server = new McpServer();
`;
const body = async (code: string, before = '') =>
  (
    await changes(
      `${HEAD}${before}\nserver.registerTool('a', {}, async (args) => { ${code} });`,
      'a',
    )
  )['a'];

describe("code that can't be read", () => {
  const unknowns = async (code: string, before = '', files = {}) =>
    (
      await trace(
        {
          ...files,
          'index.js': `${before}\n${HEAD}\nserver.registerTool('a', {}, async (args) => { ${code} });`,
        },
        ['a'],
      )
    ).tools[0]!.unknowns;
  const DEEP = {
    'deep.js': `import fs from 'node:fs'; export const run = (a) => fs.writeFileSync(a.x, 'y');const z = ${'['.repeat(50_000)}${']'.repeat(50_000)};`,
  };
  it.each([
    ['called', 'return run(args);', `import { run } from './deep.js';`],
    ['called as a member', 'return deep.run(args);', `import * as deep from './deep.js';`],
    ['imported dynamically and called', "return (await import('./deep.js')).run(args);", ''],
    ['re-exported', 'return run(args);', `import { run } from './again.js';`],
    ['instantiated', 'return new run(args).x;', `import { run } from './deep.js';`],
    ['passed as a callback', 'return [args].map(run);', `import { run } from './deep.js';`],
    [
      'passed to then()',
      'return Promise.resolve(args).then(run);',
      `import { run } from './deep.js';`,
    ],
  ])("a file that can't be parsed is reported if it is %s", async (_, code, before) => {
    expect(
      await unknowns(code, before, { ...DEEP, 'again.js': `export * from './deep.js';` }),
    ).toEqual(['./deep.js was not read']);
  });

  it('a missing file or a computed member is reported', async () => {
    expect(await unknowns('return gone(args);', `import { gone } from './gone.js';`)).toEqual([
      './gone.js was not read',
    ]);
    expect(await unknowns('return fs[args.how](args.path);')).toEqual([
      'a computed member of fs was not read',
    ]);
  });

  it('the audit terminates even if a list keeps doubling in size', async () => {
    expect(
      await body('return list;', `let list = [1];${'list = list.concat(list);'.repeat(40)}`),
    ).toEqual([]);
  });
});

describe('conditional changes', () => {
  it.each([
    ['no condition', `fs.writeFileSync(args.path, '');`, ['fs.writeFileSync']],
    [
      'an argument that must be present',
      `if (args.saveTo) fs.writeFileSync(args.saveTo, '');`,
      ['fs.writeFileSync ?saveTo'],
    ],
    [
      'an argument with one of several values',
      `switch (args.action) { case 'list': return 1; case 'set': fs.writeFileSync('x', ''); }`,
      ['fs.writeFileSync ?action'],
    ],
    [
      'flags taken from an argument',
      `const file = await fs.promises.open(args.path, args.mode); await file.close();`,
      ['fs.open ?mode'],
    ],
    [
      'an argument that must be absent',
      `if (args.dryRun) return 'preview'; fs.writeFileSync('x', '');`,
      ['fs.writeFileSync'],
    ],
    [
      'an input check that throws',
      `if (!args.path.startsWith('/')) throw new Error('bad'); fs.writeFileSync(args.path, '');`,
      ['fs.writeFileSync'],
    ],
    [
      'an input check that returns an error',
      `if (!args.path) return { isError: true }; fs.writeFileSync(args.path, '');`,
      ['fs.writeFileSync'],
    ],
    [
      'an environment variable',
      `if (process.env.DUMP) fs.writeFileSync('x', '');`,
      ['fs.writeFileSync ?'],
    ],
    [
      'an error',
      `try { fs.readFileSync('x'); } catch { fs.writeFileSync('x', ''); }`,
      ['fs.writeFileSync ?'],
    ],
    [
      "a file's content",
      `if (fs.readFileSync('x', 'utf8') === '') fs.writeFileSync('x', '');`,
      ['fs.writeFileSync'],
    ],
    ['a timer', `setTimeout(() => fs.writeFileSync('x', ''), 10);`, ['fs.writeFileSync ?']],
    [
      'an environment variable that chooses between a change and a read',
      `if (process.env.X) fs.rmSync('all'); else fs.readFileSync('one');`,
      ['fs.rmSync ?'],
    ],
    ['a false condition', `const DEBUG = false; if (DEBUG) fs.writeFileSync('x', '');`, []],
  ])('a change that depends on %s has the expected certainty', async (_, code, effects) => {
    expect(await body(code)).toEqual(effects);
  });

  it("a change that depends on an argument takes the argument's default into account", async () => {
    const code = (field: string) =>
      `${HEAD}server.registerTool('a', { inputSchema: { mode: ${field} } }, async ({ mode }) => { if (mode === 'write') fs.writeFileSync('x', ''); });`;
    expect(await changes(code(`z.enum(['read', 'write']).default('write')`), 'a')).toEqual({
      a: ['fs.writeFileSync'],
    });
    expect(await changes(code(`z.enum(['read', 'write']).default('read')`), 'a')).toEqual({
      a: ['fs.writeFileSync ?mode'],
    });
  });
});

describe('following calls', () => {
  it.each([
    [
      'through a helper that takes the method as an argument',
      `await request('DELETE', '/x');`,
      `const request = (method, path, options = {}) => fetch('https://api.example' + path, { method, ...options });`,
      ['DELETE https://api.example/x'],
    ],
    [
      'to a request without a method, which is a GET',
      `await request('/x');`,
      `const request = (path, options = {}) => fetch('https://api.example' + path, { headers: {}, ...options });`,
      [],
    ],
    [
      "to a program's arguments",
      `await run(['config', 'use-context', args.name]);`,
      `const run = (words) => promisify(execFile)('kubectl', words);`,
      ['kubectl config use-context …'],
    ],
    [
      'to a program that reads',
      `const words = ['log', '--oneline']; if (args.n) words.push('-n', args.n); spawn('git', words);`,
      '',
      [],
    ],
    [
      'to a program whose option makes it list only',
      `const words = ['tag']; if (args.pattern) { words.push('--list'); words.push(args.pattern); } else words.push('-l'); spawn('git', words);`,
      '',
      [],
    ],
    [
      'to a program with a dry-run option that an argument adds',
      `const words = ['push']; if (args.dry) words.push('--dry-run'); spawn('git', words);`,
      '',
      ['git push'],
    ],
    [
      'to a program with a dry-run option that is spread into its arguments',
      `spawn('helm', ['uninstall', ...(args.dry ? ['--dry-run'] : [])]);`,
      '',
      ['helm uninstall'],
    ],
    [
      'to a program with a dry-run option that an argument puts first',
      `const words = []; if (args.dry) words.push('--dry-run'); words.push('push'); spawn('git', words);`,
      '',
      ['git push'],
    ],
    [
      'to a program whose subcommand an argument chooses',
      `const words = []; if (args.look) words.push('status'); else words.push('push'); spawn('git', words);`,
      '',
      ['git (unknown)'],
    ],
    [
      'to a shell command with a dry-run option that an argument adds',
      `const words = ['git', 'push']; if (args.dry) words.push('--dry-run'); exec(words.join(' '));`,
      '',
      ['git push ?'],
    ],
    [
      'to a program that always gets a dry-run option',
      `const words = ['apply']; if (!args.file) throw new Error('no file'); words.push('--dry-run=client'); spawn('kubectl', words);`,
      '',
      [],
    ],
    [
      'to either of two argument lists that change something',
      `spawn('xcrun', ['simctl', ...(args.clear ? ['status_bar', args.id, 'clear'] : ['status_bar', args.id, 'override', args.what])]);`,
      '',
      ['simctl status_bar clear status_bar'],
    ],
    [
      'to a program whose path an environment variable may override',
      `spawn(process.env.IDB ?? 'idb', ['ui', 'tap', '1', '2']);`,
      '',
      ['idb ui tap 1'],
    ],
    [
      'to a program at one of two paths',
      `spawn(args.local ? path.join(process.env.SDK, 'adb') : '/opt/adb', ['install', 'a.apk']);`,
      '',
      ['adb install a.apk'],
    ],
    [
      'to an unknown program with a known subcommand',
      `spawn(path.join('bin', process.env.TOOL), ['device', 'uninstall', args.id]);`,
      '',
      ['(unknown) device uninstall'],
    ],
    [
      'to a program that is passed a temporary file',
      `const file = path.join(os.tmpdir(), 'x'); fs.writeFileSync(file, args.text); spawn('kubectl', ['delete', '-f', file]); fs.unlinkSync(file);`,
      '',
      ['kubectl delete /tmp/x'],
    ],
    [
      'into the only method with that name, although the object is unknown',
      `await args.platform.pauseProject(args.id);`,
      `const platform = { account: { pauseProject: async (id) => fetch('https://api.example/' + id, { method: 'DELETE' }) } }; export default platform;`,
      ['DELETE https://api.example/x'],
    ],
    [
      'to actions on elements of a page',
      `const element = await page.getByRole('button').first(); await page.locator(args.what).fill('x'); await element.hover();`,
      `const page = globalThis.somewhere;`,
      ['locator.fill', 'element.hover'],
    ],
    [
      'to a shell command that the caller passes',
      `exec(args.command);`,
      '',
      ['child_process.exec ?command'],
    ],
    [
      'through instance fields',
      `await new Store('x').save();`,
      `class Store { #file; constructor(file) { this.#file = file; } async save() { await fs.promises.writeFile(this.#file, ''); } }`,
      ['fs.writeFile'],
    ],
    [
      'through inheritance and super',
      `new B().go();`,
      `class A { go() { fs.rmSync('x'); } } class B extends A { go() { super.go(); } }`,
      ['fs.rmSync'],
    ],
    [
      'into callbacks',
      `await retry(() => fs.promises.unlink('x'));`,
      `const retry = async (run) => { for (;;) { try { return await run(); } catch {} } };`,
      ['fs.unlink'],
    ],
    [
      "into callbacks passed to code that isn't followed",
      `await limit(() => fs.promises.unlink('x'));`,
      `import pLimit from 'p-limit'; const limit = pLimit(2);`,
      ['fs.unlink'],
    ],
    [
      'to SQL in constants',
      `db.prepare('DELETE FROM t WHERE id = ?').run(args.id);`,
      `import Database from 'better-sqlite3'; const db = new Database('x');`,
      ['DELETE FROM t WHERE id = ?'],
    ],
    [
      'to SQL in constants that only reads',
      `return db.prepare('SELECT * FROM t WHERE id = ?').all(args.id);`,
      `import Database from 'better-sqlite3'; const db = new Database('x');`,
      [],
    ],
    [
      'to SQL that the caller passes',
      `await pool.query(args.sql);`,
      `import pg from 'pg'; const pool = new pg.Pool();`,
      ['SQL ?sql'],
    ],
    [
      'to SQL in a read-only transaction',
      `await client.query('BEGIN TRANSACTION READ ONLY'); await client.query(args.sql);`,
      `import pg from 'pg'; const client = new pg.Client();`,
      [],
    ],
    [
      "to a client's methods",
      `await octokit.issues.update({ number: args.n });`,
      `import { Octokit } from '@octokit/rest'; const octokit = new Octokit();`,
      ['@octokit/rest: Octokit.issues.update'],
    ],
  ])('a call %s is followed', async (_, code, before, effects) => {
    const found = await body(code, before);
    expect(found).toEqual(effects);
  });

  it("a file that is removed again isn't a lasting change", async () => {
    expect(
      await body(
        `const file = path.join(os.tmpdir(), 'x'); fs.writeFileSync(file, ''); const text = fs.readFileSync(file); fs.unlinkSync(file); return text;`,
      ),
    ).toEqual([]);
  });
});

const W = `{ fs.writeFileSync('x', ''); return 'x'; }`;
const LANGUAGE: Readonly<Record<string, readonly string[]>> = {
  'implicit conversions of objects': [
    `return \`\${{ toString() ${W} }}\`;`,
    `return 'a' + { toString() ${W} };`,
    `return +{ valueOf() ${W} };`,
    `return { valueOf() ${W} } > 2;`,
    `class P { [Symbol.toPrimitive]() ${W} } return \`\${new P()}\`;`,
    `return String({ toString() ${W} });`,
    `return [{ toString() ${W} }].join();`,
    `return args[{ toString() ${W} }];`,
    `let s = ''; s += { toString() ${W} }; return s;`,
    `return JSON.stringify({ toJSON() ${W} });`,
    `return JSON.stringify({ get a() ${W} });`,
    `return 'a'.split({ [Symbol.split]() ${W} });`,
    `return 1 instanceof { [Symbol.hasInstance]() ${W} };`,
  ],
  iterators: [
    `class I { *[Symbol.iterator]() ${W} } for (const one of new I()) one;`,
    `class I { *[Symbol.iterator]() ${W} } return [...new I()];`,
    `const [a] = { [Symbol.iterator]() { return { next() ${W} }; } }; return a;`,
    `for await (const one of { async *[Symbol.asyncIterator]() ${W} }) one;`,
  ],
  'promises and disposables': [
    `await { then() ${W} };`,
    `{ using a = { [Symbol.dispose]() ${W} }; }`,
  ],
  callbacks: [
    `return [2, 1].sort(() => ${W});`,
    `return [1].findIndex(() => ${W});`,
    `return [1].reduceRight(() => ${W}, 0);`,
    `return Object.groupBy([1], () => ${W});`,
    `return JSON.parse('{}', () => ${W});`,
    `return JSON.stringify({ a: 1 }, () => ${W});`,
  ],
  'loop conditions and switch cases': [
    `do {} while (fs.writeFileSync('x', ''));`,
    `switch (args.x) { case fs.writeFileSync('x', ''): }`,
  ],
  'Reflect and borrowed methods': [
    `Reflect.apply(fs.writeFileSync, fs, ['x', '']);`,
    `class F { a = fs.writeFileSync('x', ''); } Reflect.construct(F, []);`,
    `Reflect.get(fs, 'writeFileSync')('x', '');`,
    `Function.prototype.call.call(fs.writeFileSync, fs, 'x', '');`,
    `fs.writeFileSync.apply(fs, ['x', '']);`,
    `const write = Function.prototype.call.bind(fs.writeFileSync); write(fs, 'x', '');`,
  ],
  proxies: [
    `return new Proxy({}, { get() ${W} }).a;`,
    `return new Proxy(() => 1, { apply() ${W} })();`,
    `const p = new Proxy({}, { set() ${W} }); p.a = 1;`,
    `return 'a' in new Proxy({}, { has() ${W} });`,
  ],
  'replaced built-in functions': [
    `Array.prototype.map = () => ${W}; return [1].map((one) => one);`,
    `Math.random = () => ${W}; return Math.random();`,
    `Object.defineProperty(JSON, 'stringify', { value: () => ${W} }); return JSON.stringify(args);`,
  ],
  'computed property names': [
    `return globalThis[args.x]('y');`,
    `const { [args.x]: f } = fs; return f('x');`,
    `const { readFileSync, ...rest } = fs; return rest.writeFileSync('x', '');`,
    `return { ...fs }.writeFileSync('x', '');`,
    `for (const [, f] of Object.entries(fs)) f('x');`,
    `return (await import(args.x)).run();`,
    `return require('node:f' + args.x).run();`,
    `const t = { f() ${W} }; return t['f']\`a\`;`,
  ],
  'code in strings and native bindings': [
    `return new Function('return 1')();`,
    `return (() => 1).constructor('return 1')();`,
    `setTimeout('1', 1);`,
    `return process.binding('fs').open('x');`,
    `return process._linkedBinding('fs').open('x');`,
    `return WebAssembly.instantiate(args.x);`,
  ],
  globals: [`globalThis.x = 1;`, `process.env.X = '1';`, `Object.prototype.x = 1;`],
};
it.each(Object.entries(LANGUAGE))(
  'calls through %s are followed or reported as unknown',
  async (_, codes) => {
    const quiet = [];
    for (const code of codes) {
      const [tool] = (
        await trace(
          { 'index.js': `${HEAD}\nserver.registerTool('a', {}, async (args) => { ${code} });` },
          ['a'],
        )
      ).tools;
      if (tool!.unknowns.length === 0 && tool!.effects.every(({ access }) => access === 'read'))
        quiet.push(code);
    }
    expect(quiet).toEqual([]);
  },
);

const two = async (code: string) => changes(HEAD + code, 'a', 'b');
it.each([
  [
    'counts when another tool reads it',
    `const notes = []; server.registerTool('a', {}, ({ text }) => { notes.push(text); }); server.registerTool('b', {}, () => ({ notes }));`,
    ['push'],
  ],
  [
    'counts when the answer contains it',
    `let calls = 0; server.registerTool('a', {}, () => { calls++; return { calls }; }); server.registerTool('b', {}, () => 1);`,
    ['calls ='],
  ],
  [
    'counts when it is in an instance field',
    `class Thoughts { list = []; add(one) { this.list.push(one); return { length: this.list.length }; } } const thoughts = new Thoughts(); server.registerTool('a', {}, (args) => thoughts.add(args)); server.registerTool('b', {}, () => 1);`,
    ['push'],
  ],
  [
    "doesn't count when nothing reads it",
    `let last; server.registerTool('a', {}, () => { last = Date.now(); }); server.registerTool('b', {}, () => 1);`,
    [],
  ],
  [
    "doesn't count when it is a cache",
    `const cache = new Map(); server.registerTool('a', {}, async ({ id }) => { const hit = cache.get(id); if (hit) return hit; const value = await (await fetch('https://api.example/' + id)).json(); cache.set(id, value); return value; }); server.registerTool('b', {}, ({ id }) => cache.get(id));`,
    [],
  ],
  [
    "doesn't count when it is a client that is created lazily",
    `let client; const get = () => { if (!client) client = { at: Date.now() }; return client; }; server.registerTool('a', {}, () => get()); server.registerTool('b', {}, () => get());`,
    [],
  ],
  [
    "doesn't count when it belongs to a single call",
    `server.registerTool('a', {}, ({ ids }) => { const all = []; for (const id of ids) all.push(id); return all; }); server.registerTool('b', {}, () => 1);`,
    [],
  ],
])('state in memory %s', async (_, code, effects) => {
  expect(await two(code)).toEqual({ a: effects, b: [] });
});

describe('effects that all tools share', () => {
  const four = (handler: (name: string) => string) =>
    ['a', 'b', 'c', 'd']
      .map((name) => `server.registerTool('${name}', {}, ${handler(name)});`)
      .join('\n');
  it('a logger around all handlers is reported once', async () => {
    const wrapped = `const logged = (run) => async (args) => { fs.appendFileSync('log', ''); return run(args); };\n`;
    const { tools, shared } = await trace(
      { 'index.js': HEAD + wrapped + four((name) => `logged(() => '${name}')`) },
      ['a', 'b', 'c', 'd'],
    );
    expect(tools.flatMap(({ effects }) => effects)).toEqual([]);
    expect(shared.map(({ call }) => call)).toEqual(['fs.appendFileSync']);
  });
  it('a helper that every tool calls itself is reported for each tool', async () => {
    const { tools, shared } = await trace(
      {
        'index.js': `${HEAD}const saveGraph = () => fs.writeFileSync('graph', '');\n${four(() => '() => saveGraph()')}`,
      },
      ['a', 'b', 'c', 'd'],
    );
    expect(tools.map(({ effects }) => effects.map(({ call }) => call))).toEqual([
      ['fs.writeFileSync'],
      ['fs.writeFileSync'],
      ['fs.writeFileSync'],
      ['fs.writeFileSync'],
    ]);
    expect(shared).toEqual([]);
  });
});

describe('malicious code', () => {
  const TOOL = `${HEAD}server.registerTool('a', {}, ({ path }) => fs.writeFileSync(path, ''));\n`;
  const skipped = [{ name: 'x.js', reason: 'nested too deeply' }];
  it.each([
    ['50,000 nested lists', '['.repeat(50_000) + ']'.repeat(50_000)],
    ['100,000 nested functions on separate lines', `x=${'a=>\n'.repeat(100_000)}1`],
    ['60,000 nested conditionals with comments', `x=${'a?/*;}*/b:\n'.repeat(60_000)}1`],
    ['5 MB in one line', `x=${'f(1)+'.repeat(1_000_000)}1`],
  ])('a file with %s is skipped and reported, and the tool is still found', async (_, text) => {
    const traced = await trace({ 'index.js': `${TOOL}import './x.js';`, 'x.js': text }, ['a']);
    expect(traced).toMatchObject({
      tools: [{ name: 'a', effects: [{ call: 'fs.writeFileSync' }] }],
      skipped,
    });
  });

  it.each([
    [
      'circular imports',
      {
        'x.js': `export * from './y.js'; import { y } from './y.js'; export const x = y;`,
        'y.js': `export * from './x.js'; import { x } from './x.js'; export const y = x;`,
      },
    ],
    [
      '__proto__ as a key',
      {
        'x.js': `const o = { __proto__: null, constructor: 1, hasOwnProperty: 2 }; o.__proto__.x = 1; o['__proto__'] = o; for (const key in o) o[key] = o; export default o;`,
      },
    ],
    [
      'recursive getters',
      {
        'x.js': `const o = { get a() { return this.a.a; }, get b() { return { get c() { return o.b.c; } }; } }; o.a; o.b.c; class X { get x() { return new X().x; } } new X().x;`,
      },
    ],
    [
      'endless recursion and loops',
      {
        'x.js': `function f(n) { return f(n + 1) + g(n) + f(n + 2); } function g(n) { return f(n) + g(n - 1); } f(1); for (;;) {} while (true) { f(2); }`,
      },
    ],
    [
      'strings that keep growing',
      {
        'x.js': `let s = 'x'; while (1) s += s; 'x'.repeat(1e9).padEnd(1e9); 'x'.at(1n); 'x'.repeat(-1);`,
      },
    ],
    ['syntax errors', { 'x.js': `export const = ; }}} <<<` }],
    ['imports of missing files', {}],
  ])('a tool is found even if another file contains %s', async (_, files) => {
    expect(await trace({ 'index.js': `${TOOL}import './x.js';`, ...files }, ['a'])).toMatchObject({
      tools: [{ name: 'a', effects: [{ call: 'fs.writeFileSync', certainty: 'does' }] }],
    });
  });

  it('tools named like built-in object properties keep their own effects', async () => {
    expect(
      await changes(
        `${HEAD}server.registerTool('constructor', {}, () => fs.rmSync('x')); server.registerTool('__proto__', {}, () => 1);`,
        'constructor',
        '__proto__',
        'toString',
      ),
    ).toEqual({ constructor: ['fs.rmSync'], ['__proto__']: [], toString: undefined });
  });
});

describe('a default, or a value that arguments may replace', () => {
  it.each([
    ['a default list', `const { list = [] } = args; if (Array.isArray(list)) fs.rmSync(list[0]);`],
    ['a spread', `const all = { dry: true, ...args.more }; if (!all.dry) fs.rmSync('x');`],
    ['Object.assign', `if (!Object.assign({ dry: true }, args.more).dry) fs.rmSync('x');`],
    [
      'a computed key',
      `const all = { dry: true }; for (const key in args.more) all[key] = args.more[key]; if (!all.dry) fs.rmSync('x');`,
    ],
    [
      'a key of a Map',
      `const all = new Map([['dry', true]]); all.set(args.key, args.value); if (!all.get('dry')) fs.rmSync('x');`,
    ],
    ['a default program', `const { list = ['ls'] } = args; spawn(list[0]);`],
    ['a default command', `const { list = ['status'] } = args; spawn('git', list);`],
    [
      'a word of a command',
      `const list = ['status']; list[0] = args.word ?? ''; spawn('git', list);`,
    ],
    [
      'a spliced command',
      `const list = ['status']; list.splice(0, 1, ...args.more); spawn('git', list);`,
    ],
    ['a default method', `await fetch('https://a.test/x', args.options ?? { method: 'GET' });`],
  ])("doesn't hide the effects of other values: %s", async (_, code) => {
    expect(await body(code)).not.toEqual([]);
  });
});
