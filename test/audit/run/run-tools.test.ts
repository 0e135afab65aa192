import { realpathSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runAll, shipped, type Shipped } from './fixture.js';

let package_: Shipped;
beforeAll(async () => {
  package_ = await shipped();
});
afterAll(() => rmSync(package_.folder, { recursive: true, force: true }));

const told = ({
  kind,
  access,
  at,
}: {
  readonly kind: string;
  readonly access: string;
  readonly at: string;
}) => `${kind} ${access} ${at.replace(/:\d+$/, '')}`;

describe('running tools in the audit', () => {
  it('every write is recorded with its location in the code, whichever way the tool writes', async () => {
    const { of, held } = await runAll(package_, {
      reads: `({ path }) => fs.readFileSync(path, 'utf8')`,
      byStream: `() => new Promise((done) => fs.createWriteStream('a.txt').end('x', done))`,
      byHandle: `async () => { const file = await open('a.txt', 'w'); await file.write('x'); await file.close(); }`,
      byWrapper: `() => { const files = require('fs'); const { writeFileSync } = files; files.writeFileSync = () => undefined; writeFileSync('a.txt', 'x'); }`,
    });
    expect(held.by).toContain('the recorder');
    expect(of['reads']!.effects.map(told)).toEqual(['fs-read read tools.mjs']);
    expect(of['reads']).toMatchObject({
      status: 'ok',
      files: [],
      secondChanged: false,
    });
    for (const name of ['byStream', 'byHandle', 'byWrapper'])
      expect(of[name]!.effects.map(told), name).toEqual(['fs-write write tools.mjs']);
    for (const name of ['byStream', 'byHandle', 'byWrapper'])
      expect(of[name]!.files, name).toEqual([{ path: 'a.txt', where: 'root', change: 'created' }]);
  });

  it('the audit detects overwrites, additions, and calls that change more when repeated, and ignores undone changes', async () => {
    const { of } = await runAll(package_, {
      overwrites: `({ path }) => writeFile(path, 'new')`,
      appends: `({ path }) => appendFile(path, 'more')`,
      later: `() => { setTimeout(() => fs.writeFileSync('late.txt', ''), 50); }`,
      tidies: `() => { const folder = fs.mkdtempSync('x-'); fs.writeFileSync(folder + '/y', ''); fs.rmSync(folder, { recursive: true }); }`,
    });
    expect(of['overwrites']).toMatchObject({
      secondChanged: false,
      effects: [{ kind: 'fs-write', destructive: true, idempotent: true }],
      files: [{ path: 'data/old.txt', change: 'changed' }],
    });
    expect(of['appends']).toMatchObject({
      secondChanged: true,
      effects: [{ kind: 'fs-write', destructive: false, idempotent: false }],
    });
    expect(of['later']!.files).toEqual([{ path: 'late.txt', where: 'root', change: 'created' }]);
    expect(of['tidies']).toMatchObject({ secondChanged: false, effects: [], files: [] });
  });

  it('a tool that exceeds the memory limit is stopped and reported, and the other tools still run', async () => {
    const { of } = await runAll(package_, {
      takesAll: `() => { const all = []; for (;;) all.push(new Array(100_000).fill(0.5)); }`,
      reads: `({ path }) => fs.readFileSync(path, 'utf8')`,
    });
    expect(of['takesAll']).toMatchObject({
      status: 'error',
      message: expect.stringContaining('its process ended') as string,
    });
    expect(of['reads']).toMatchObject({ status: 'ok' });
  });

  it("a tool can't start programs, use the network, or read variables, and each attempt is reported", async () => {
    process.env['AUDIT_SECRET'] = 'not for tools';
    try {
      const { of } = await runAll(package_, {
        spawns: `() => new Promise((done, failed) => execFile('touch', ['made-by-program'], (error, out) => (error ? failed(error) : done(out))))`,
        spawnsAtOnce: `() => [execFileSync('touch', ['made'], { encoding: 'utf8' }), spawnSync('touch made', { shell: true }).status]`,
        fetches: `async () => (await fetch('https://api.example.com/items', { method: 'DELETE' })).json()`,
        gets: `() => new Promise((done, failed) => https.get('https://example.org/', (answer) => done(answer.statusCode)).on('error', failed))`,
        asks: `() => new Promise((done) => dns.lookup('example.net', (error) => done(error.code)))`,
        reads: `() => String(process.env.AUDIT_SECRET)`,
      });
      expect(Object.values(of).map(({ status, message }) => message ?? status)).toEqual([
        'ok',
        'ok',
        'ok',
        'ok',
        'ok',
        'ok',
      ]);
      expect(of['spawns']).toMatchObject({ programs: ['touch made-by-program'], files: [] });
      expect(of['spawnsAtOnce']).toMatchObject({
        programs: ['touch made', 'sh -c touch made'],
        files: [],
      });
      expect(of['fetches']).toMatchObject({
        hosts: [{ host: 'api.example.com', methods: ['DELETE'] }],
        effects: [{ kind: 'net-write', access: 'write' }],
      });
      expect(of['gets']).toMatchObject({
        hosts: [{ host: 'example.org', methods: ['GET'] }],
        effects: [{ kind: 'net-read', access: 'read' }],
      });
      expect(of['asks']!.hosts).toEqual([{ host: 'example.net', methods: [] }]);
      expect(of['reads']!.env).toEqual(['AUDIT_SECRET']);
    } finally {
      delete process.env['AUDIT_SECRET'];
    }
  });

  it("a tool can't write outside its copy of the folder, and each attempt is recorded", async () => {
    const outside = `${realpathSync(package_.folder)}/outside.txt`;
    const { of } = await runAll(package_, {
      plainly: `() => fs.writeFileSync(${JSON.stringify(outside)}, 'x')`,
      inBytes: `() => fs.writeFileSync(Buffer.from(${JSON.stringify(outside)}), 'x')`,
      inOtherBytes: `() => fs.writeFileSync(new Uint8Array(Buffer.from(${JSON.stringify(outside)})), 'x')`,
      byLink: `() => fs.writeFileSync('link/outside.txt', 'x')`,
      later: `() => new Promise((done) => { setTimeout(fs.writeFile, 0, ${JSON.stringify(outside)}, 'x', done); })`,
      byBinding: `() => process.binding('fs')`,
    });
    for (const name of ['plainly', 'inBytes', 'inOtherBytes', 'byLink']) {
      expect(of[name], name).toMatchObject({ status: 'error', secondChanged: null });
      expect(of[name]!.files, name).toContainEqual({
        path: outside,
        where: 'outside',
        change: 'refused',
      });
      expect(of[name]!.effects.map(told), name).toContain('fs-write write tools.mjs');
    }
    expect(of['later']!.files).toContainEqual({
      path: outside,
      where: 'outside',
      change: 'refused',
    });
    expect(of['byBinding']!.status).toBe('error');
  });

  it('a tool that loops forever, hangs, or crashes is stopped, and the changes it made are recorded', async () => {
    const { of } = await runAll(
      package_,
      {
        neverEnds: `() => { fs.writeFileSync('a.txt', ''); for (;;); }`,
        hangs: `() => new Promise(() => setInterval(() => undefined, 1000))`,
        crashes: `() => { fs.writeFileSync('a.txt', ''); process.exit(3); }`,
      },
      { timeoutMs: 2_000 },
    );
    expect(of['neverEnds']).toMatchObject({
      status: 'error',
      message: 'no answer within 3000 ms',
      secondChanged: null,
    });
    expect(of['hangs']).toMatchObject({ status: 'error' });
    expect(of['crashes']).toMatchObject({ status: 'error', message: 'its process ended with 3' });
    for (const name of ['neverEnds', 'crashes'])
      expect(of[name]!.effects.map(told), name).toContain('fs-write write tools.mjs');
  });

  it("a tool can't stop other processes or start workers", async () => {
    const { of } = await runAll(package_, {
      kills: `() => process.kill(2 ** 22 + 1)`,
      killsBelow: `() => process._kill(process.ppid, 9)`,
      byWorker: `() => new Promise((done, failed) => new Worker("require('fs').writeFileSync('a.txt', 'x')", { eval: true }).on('error', failed).on('exit', done))`,
    });
    expect(of['kills']!.effects).toMatchObject([
      { kind: 'process-spawn', access: 'write', call: 'process.kill' },
    ]);
    expect(of['killsBelow']!.status).toBe('ok');
    expect(of['byWorker']).toMatchObject({
      status: 'error',
      message: expect.stringContaining('Workers are not available') as string,
      files: [],
    });
  });

  it("a tool that needs approval or has no examples isn't run unless the user allows it", async () => {
    const tools = { plain: '() => 1' };
    const entries = async (root: string) =>
      (await package_.toolsIn(root)).map((entry) => ({
        ...entry,
        inputJsonSchema: { type: 'object' },
      }));
    const changed: Shipped = { ...package_, toolsIn: entries };
    expect((await runAll(changed, tools)).skipped).toEqual([
      { name: 'plain', reason: 'its input schema has no examples' },
    ]);
    expect((await runAll(changed, tools, { generate: true })).of['plain']!.status).toBe('ok');
    const writing: Shipped = {
      ...package_,
      toolsIn: async (root) =>
        (await entries(root)).map((entry) => ({ ...entry, accessMode: 'write' as const })),
    };
    expect((await runAll(writing, tools, { generate: true })).skipped).toEqual([
      { name: 'plain', reason: 'its calls need approval: it is declared write' },
    ]);
    expect(
      (await runAll(writing, tools, { generate: true, unsafe: true })).of['plain']!.status,
    ).toBe('ok');
  });

  it("a tool can't forge or truncate the record", async () => {
    const record = `fs.readdirSync('../..').filter((name) => name === 'record').map((name) => '../../' + name)[0]`;
    const { of } = await runAll(package_, {
      sends: `() => { for (const message of [null, 1, 'x', { id: 'x' }, { id: 1, answer: 3 }, { id: 'x', answer: { status: {} } }]) process.send(message); fs.writeFileSync('a.txt', ''); }`,
      writesOver: `() => { const { stringify } = JSON; JSON.stringify = (value) => (value?.module === undefined ? stringify(value) : stringify({ ...value, module: 'path', targets: undefined })); String.prototype.startsWith = () => true; try { fs.writeFileSync('../../x.txt', ''); } catch {} fs.writeFileSync('a.txt', ''); }`,
      cuts: `() => { fs.writeFileSync('a.txt', ''); fs.truncateSync(${record}); }`,
      reads: `() => { fs.readFileSync(${record}, 'utf8'); }`,
    });
    expect(of['cuts']!.files.map(({ change }) => change)).toContain('refused');
    expect(of['cuts']!.effects.map(told)).toContain('fs-write write tools.mjs');
    expect(of['sends']).toMatchObject({ status: 'ok' });
    expect(of['writesOver']!.files.map(({ change }) => change)).toContain('refused');
    for (const name of ['sends', 'writesOver'])
      expect(of[name]!.effects.map(told), name).toContain('fs-write write tools.mjs');
    expect(of['reads']).toMatchObject({ status: 'ok' });
  });
});
