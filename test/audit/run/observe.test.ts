import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectWith, shipped, type Shipped } from './fixture.js';

let package_: Shipped;
beforeAll(async () => {
  package_ = await shipped();
});
afterAll(() => rmSync(package_.folder, { recursive: true, force: true }));

it('tells by itself, once for each tool and kind, where it is only preloaded', async () => {
  const root = projectWith(package_, {
    saves: `({ path }) => { fs.writeFileSync(path, 'new'); fs.writeFileSync(path, 'newer'); return 1; }`,
  });
  writeFileSync(
    join(root, 'app.mjs'),
    `import { ToolExecutor, ToolMetadataRegistry } from ${JSON.stringify(pathToFileURL(join(package_.folder, 'index.js')).href)};
import * as tools from './tools.mjs';
const registry = new ToolMetadataRegistry();
registry.registerAll(Object.values(tools));
for (const id of ['1', '2']) console.log((await new ToolExecutor({ registry }).execute({ id, name: 'saves', input: { path: 'data/old.txt' } })).status);`,
  );
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', pathToFileURL(join(package_.folder, 'audit/observe.js')).href, 'app.mjs'],
    { cwd: root },
  );
  expect([stdout, stderr]).toEqual([
    'ok\nok\n',
    expect.stringMatching(
      /^tooldex: saves declares that it only reads, and was seen to do fs\.writeFileSync \(fs-write\) at tools\.mjs:\d+\n$/,
    ),
  ]);
  rmSync(root, { recursive: true, force: true });
});

it('tells of a readonly tool whose call is seen writing, with the call, the place and the way, and of nothing else', async () => {
  const root = projectWith(package_, {
    reads: `({ path }) => fs.readFileSync(path, 'utf8')`,
    saves: `async ({ path }) => {
      await new Promise(setImmediate);
      fs.writeFileSync(path, 'new');
      fs.writeFileSync(path, 'newer');
      return 1;
    }`,
  });
  const url = (name: string) => JSON.stringify(pathToFileURL(join(package_.folder, name)).href);
  const app = `import { ToolExecutor, ToolMetadataRegistry } from ${url('index.js')};
import { observeCalls } from ${url('audit/observe.js')};
import * as tools from './tools.mjs';
const registry = new ToolMetadataRegistry();
registry.registerAll(Object.values(tools));
const executor = new ToolExecutor({ registry });
const events = [];
const stop = observeCalls(executor, (event) => { events.push(event); throw new Error('ignored'); });
const call = (id, name) => executor.execute({ id, name, input: { path: 'data/old.txt' } });
const outcomes = await Promise.all([call('1', 'reads'), call('2', 'saves')]);
stop();
await call('3', 'saves');
console.log(JSON.stringify({ events, statuses: outcomes.map(({ status }) => status) }));`;
  writeFileSync(join(root, 'app.mjs'), app);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', pathToFileURL(join(package_.folder, 'audit/observe.js')).href, 'app.mjs'],
    { cwd: root },
  );
  const { events, statuses } = JSON.parse(stdout) as {
    readonly events: readonly object[];
    readonly statuses: readonly string[];
  };
  expect(statuses).toEqual(['ok', 'ok']);
  expect(events).toMatchObject([
    {
      type: 'metadata-contradicted',
      toolName: 'saves',
      callId: '2',
      effect: { kind: 'fs-write', call: 'fs.writeFileSync', at: 'tools.mjs:14' },
    },
    {
      type: 'metadata-contradicted',
      toolName: 'saves',
      callId: '2',
      effect: { kind: 'fs-write', at: 'tools.mjs:15' },
    },
  ]);
  rmSync(root, { recursive: true, force: true });
});
