import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { isToolError } from '../../src/index.js';
import { FileWall } from '../../tools/walls/file-wall.js';
import { folderWith } from '../folder-with.js';

const SECRET = 'the secret outside';
let base: string;
let root: string;
let outside: string;
let wall: FileWall;

beforeEach(() => {
  base = folderWith();
  root = join(base, 'root');
  outside = join(base, 'root-evil');
  mkdirSync(join(root, 'src/deep'), { recursive: true });
  mkdirSync(join(root, '.git/hooks'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.txt'), SECRET);
  writeFileSync(join(root, 'a.txt'), 'inside');
  writeFileSync(join(root, 'src/b.ts'), 'export const b = 1;\n');
  writeFileSync(join(root, '.git/config'), '[core]');
  for (const name of ['.env', '.env.local', 'id_rsa', 'server.pem', 'tls.key'])
    writeFileSync(join(root, name), SECRET);
  symlinkSync(join(outside, 'secret.txt'), join(root, 'link-file'));
  symlinkSync(outside, join(root, 'link-dir'));
  symlinkSync('link-dir', join(root, 'link-chain'));
  symlinkSync('../root-evil', join(root, 'link-relative'));
  symlinkSync('../../root-evil/secret.txt', join(root, 'src/link-up'));
  symlinkSync(join(outside, 'not-yet.txt'), join(root, 'link-dangling'));
  symlinkSync('loop-b', join(root, 'loop-a'));
  symlinkSync('loop-a', join(root, 'loop-b'));
  symlinkSync('/proc/self/root', join(root, 'link-proc'));
  symlinkSync('/dev/zero', join(root, 'link-device'));
  symlinkSync('.env', join(root, 'link-env'));
  symlinkSync('.git', join(root, 'link-git'));
  symlinkSync('src', join(root, 'link-inside'));
  execFileSync('mkfifo', [join(root, 'pipe')]);
  wall = new FileWall(root);
});

/** Returns the names and contents of everything in the temporary folder outside the root. */
function outsideState(): string[] {
  return readdirSync(outside)
    .sort()
    .map((name) => `${name}=${readFileSync(join(outside, name), 'utf8')}`);
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    (value) => `went through: ${JSON.stringify(value)}`,
    (error: unknown) => (isToolError(error) ? error.code : `another error: ${String(error)}`),
  );
}

type Path = string | (() => string);
const ATTACKS: Readonly<Record<string, readonly Path[]>> = {
  'escaping the root': [
    '..',
    '../',
    '../root-evil/secret.txt',
    './../root-evil/secret.txt',
    'src/../../root-evil/secret.txt',
    'src/deep/../../../root-evil/secret.txt',
    'src/./.././../root-evil/secret.txt',
    'missing/../../root-evil/secret.txt',
    'src//..//..//root-evil//secret.txt',
    '../../../../../../../../etc/passwd',
  ],
  'leaving and reentering the root': ['../root/a.txt', 'src/../../root/a.txt'],
  'a sibling with the same prefix': [
    () => outside,
    () => join(outside, 'secret.txt'),
    () => `${root}-evil/secret.txt`,
  ],
  'an absolute path': [
    '/',
    '/etc/passwd',
    '/./etc/passwd',
    () => base,
    () => `${root}/../root-evil/secret.txt`,
  ],
  'an absolute path through /proc': [
    '/proc/self/environ',
    '/proc/self/cwd/package.json',
    () => `/proc/self/root${outside}/secret.txt`,
    () => `/proc/self/root${root}/a.txt`,
  ],
  'an absolute path through /dev': ['/dev/fd/0', '/dev/zero'],
  'a NUL character': ['a.txt\0', 'a.txt\0.png', '../root-evil/secret.txt\0a.txt'],
  'a control character': ['a.txt\n', 'a\r\nb.txt', 'a\x1b[2J.txt', 'a\x7f.txt'],
  'a link to a file outside': ['link-file', './src/../link-file', 'src/link-up'],
  'a link to a folder outside': [
    'link-dir',
    'link-dir/secret.txt',
    'link-dir/missing.txt',
    'link-dir/missing/deeper.txt',
    'link-relative/secret.txt',
  ],
  'a link to a folder outside, by absolute path': [() => join(root, 'link-dir/secret.txt')],
  'a chain of links': ['link-chain', 'link-chain/secret.txt'],
  'a dangling link': ['link-dangling', 'link-dangling/child'],
  'a cycle of links': ['loop-a', 'loop-b/child'],
  'a link to /proc': ['link-proc', 'link-proc/etc/passwd'],
  'a link to a device': ['link-device'],
  'a Windows path': [
    '..\\root-evil\\secret.txt',
    'src\\..\\..\\root-evil\\secret.txt',
    'C:\\Windows\\win.ini',
    'C:/Windows/win.ini',
    'c:secret.txt',
    '\\Windows\\win.ini',
  ],
  'a network path': [
    '\\\\server\\share\\secret.txt',
    '//server/share/secret.txt',
    () => `/${root}/a.txt`,
  ],
  'a Windows device path': ['\\\\?\\C:\\secret.txt', '\\\\.\\pipe\\docker_engine'],
  'a URL': ['file:///etc/passwd', 'FILE:///etc/passwd'],
  'the home folder': ['~', '~/.ssh/config'],
  'an empty path': [''],
  'an overlong path': ['a/'.repeat(3_000)],
  'a secret': [
    '.env',
    './src/../.env',
    '.env.local',
    '.env.production',
    'id_rsa',
    'keys/id_ed25519',
    'server.pem',
    'tls.key',
  ],
  'a secret in another case': ['.ENV', 'Server.PEM'],
  'a secret with a suffix that Windows drops': ['.env.', '.env ', '.env::$DATA'],
  'a secret behind a link': ['link-env'],
  'a path below a secret': ['.env/child'],
  "a file with a service's passwords": [
    '.npmrc',
    'packages/a/.npmrc',
    '.pypirc',
    '.pgpass',
    '.netrc',
    '.htpasswd',
  ],
  'a folder with passwords': [
    '.aws',
    '.aws/credentials',
    '.ssh/config',
    'home/.ssh/known_hosts',
    '.kube/config',
    '.gnupg/x',
    '.docker/config.json',
    '.DOCKER/Config.json.',
  ],
  'the .git folder': [
    '.git',
    '.git/config',
    '.git/HEAD',
    '.GIT/config',
    '.git./config',
    '.git /config',
    '.git/hooks/post-commit',
    'sub/.git/config',
    'link-git',
    'link-git/config',
  ],
};

describe('FileWall', () => {
  describe('refuses', () => {
    const paths = Object.entries(ATTACKS).flatMap(([kind, all]) =>
      all.map((path) => [kind, JSON.stringify(String(path).slice(0, 50)), path] as const),
    );
    it.each(paths)('%s: %s', async (_kind, _shown, given) => {
      const path = typeof given === 'string' ? given : given();
      const before = outsideState();
      for (const work of [
        () => wall.resolve(path),
        () => wall.stat(path),
        () => wall.readBytes(path),
        () => wall.readText(path),
        () => wall.writeText(path, 'x'),
        () => wall.list(path),
        () => wall.walk(path),
        () => wall.move('a.txt', `${path}${path.endsWith('/') ? '' : '/'}x.txt`),
      ]) {
        const code = await codeOf(work());
        expect(code).toBe('FORBIDDEN_PATH');
      }
      expect(outsideState()).toEqual(before);
      expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('inside');
    });

    it('to move a folder whose name marks its contents as secret', async () => {
      mkdirSync(join(root, '.docker'));
      writeFileSync(join(root, '.docker/config.json'), SECRET);
      expect(await codeOf(wall.move('.docker', 'docker'))).toBe('FORBIDDEN_PATH');
      expect(existsSync(join(root, '.docker/config.json'))).toBe(true);
    });

    it('to read or replace a pipe, without blocking', async () => {
      expect(await codeOf(wall.readText('pipe'))).toBe('FORBIDDEN_PATH');
      expect(await codeOf(wall.writeText('pipe', 'x'))).toBe('FORBIDDEN_PATH');
      expect(await codeOf(wall.remove('pipe'))).toBe('FORBIDDEN_PATH');
      expect(lstatSync(join(root, 'pipe')).isFIFO()).toBe(true);
    });

    it('to read a socket', async () => {
      const server = createServer();
      await new Promise<void>((done) => server.listen(join(root, 'socket'), done));
      expect(await codeOf(wall.readText('socket'))).toBe('FORBIDDEN_PATH');
      await new Promise((done) => server.close(done));
    });

    it.each(['.', './', 'src/..'])(
      'to write, move, or remove the root itself: %s',
      async (path) => {
        for (const work of [
          () => wall.writeText(path, 'x'),
          () => wall.remove(path),
          () => wall.move(path, 'src/x'),
          () => wall.move('a.txt', path),
        ])
          expect(await codeOf(work())).toBe('FORBIDDEN_PATH');
      },
    );
  });

  it('never includes absolute paths in errors', async () => {
    const paths = [
      'missing',
      'a.txt/child',
      'src',
      'link-file',
      'link-dangling',
      'loop-a',
      'pipe',
      '../x',
      `${'n'.repeat(300)}`,
    ];
    for (const path of paths) {
      for (const work of [
        () => wall.readText(path),
        () => wall.list(path),
        () => wall.writeText(path, 'x', { overwrite: false }),
        () => wall.move(path, 'a.txt'),
      ]) {
        const error: unknown = await work().catch((caught: unknown) => caught);
        const said = isToolError(error)
          ? `${error.message}${JSON.stringify(error.details)}${String(error.cause)}`
          : '';
        expect(said).not.toContain(basename(base));
      }
      rmSync(join(root, 'missing'), { force: true });
    }
  });

  it('follows links that stay inside the root', async () => {
    expect(await wall.readText('link-inside/b.ts')).toBe('export const b = 1;\n');
    expect(await wall.writeText('link-inside/c.ts', 'c')).toEqual({
      path: 'src/c.ts',
      bytes: 1,
      created: true,
    });
    expect((await wall.stat('link-inside'))?.path).toBe('src');
  });

  it('accepts absolute paths below the root, even if the root is a link', async () => {
    symlinkSync(root, join(base, 'alias'));
    const aliased = new FileWall(join(base, 'alias'));
    expect(await aliased.readText(join(base, 'alias/a.txt'))).toBe('inside');
    expect(await aliased.readText(join(root, 'a.txt'))).toBe('inside');
    expect(aliased.relative(join(base, 'alias/src/../a.txt'))).toBe('a.txt');
  });

  it('does no I/O when constructed, and reports a missing root on use', async () => {
    const lost = new FileWall(join(base, 'lost'));
    expect(await lost.stat('a')).toBeUndefined();
    expect(await codeOf(lost.readText('a'))).toBe('EXECUTION_FAILED');
    expect(existsSync(join(base, 'lost'))).toBe(false);
  });

  it('allows secrets only with allowSecrets', async () => {
    const open = new FileWall(root, { allowSecrets: true });
    expect(await open.readText('.env')).toBe(SECRET);
    expect((await open.walk('.')).files).toContain('.env');
    expect(await codeOf(open.writeText('.git/config', 'x'))).toBe('FORBIDDEN_PATH');
    expect(await codeOf(open.readText('.git/config'))).toBe('FORBIDDEN_PATH');
  });

  it('allows names that only resemble secrets', async () => {
    for (const path of [
      'environment.ts',
      'id_rsa.pub',
      'keys.ts',
      '.envelope',
      '.gitignore',
      'src/.github.md',
      '.docker/Dockerfile',
      '.npmrc.md',
      'aws/main.ts',
      '.github/ci.yml',
    ])
      expect((await wall.writeText(path, 'x')).created).toBe(true);
  });

  it.each([
    ['a NUL character', Buffer.from('a\0b')],
    ["bytes that aren't UTF-8", Buffer.from([0x61, 0xff, 0xfe])],
  ])(
    'reading and writing refuses to read a file with %s as text, but returns its bytes',
    async (_, bytes) => {
      writeFileSync(join(root, 'binary'), bytes);
      expect(await codeOf(wall.readText('binary'))).toBe('EXECUTION_FAILED');
      expect(await wall.readBytes('binary')).toEqual(bytes);
    },
  );

  it('reading and writing reads files up to the maximum size only', async () => {
    const small = new FileWall(root, { maxReadBytes: 6 });
    expect(await small.readText('a.txt')).toBe('inside');
    writeFileSync(join(root, 'a.txt'), 'inside!');
    expect(await codeOf(small.readText('a.txt'))).toBe('LIMIT_EXCEEDED');
    writeFileSync(join(root, 'huge'), '');
    truncateSync(join(root, 'huge'), 50 * 2 ** 30);
    expect(await codeOf(wall.readBytes('huge'))).toBe('LIMIT_EXCEEDED');
  });

  it('reading and writing counts the bytes it reads instead of trusting the reported file size', async () => {
    expect(statSync('/proc/self/status').size).toBe(0);
    expect(await codeOf(new FileWall('/proc/self', { maxReadBytes: 100 }).readText('status'))).toBe(
      'LIMIT_EXCEEDED',
    );
  });

  it('reading and writing refuses to write more than maxWriteBytes, and leaves the file unchanged', async () => {
    const small = new FileWall(root, { maxWriteBytes: 3 });
    expect(await codeOf(small.writeText('a.txt', 'éé'))).toBe('LIMIT_EXCEEDED');
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('inside');
  });

  it("reading and writing keeps a replaced file's mode, creates new files with 0644, and leaves no temporary file", async () => {
    chmodSync(join(root, 'a.txt'), 0o755);
    await wall.writeText('a.txt', 'new');
    await wall.writeText('new/folder/b.txt', 'b');
    expect(statSync(join(root, 'a.txt')).mode & 0o777).toBe(0o755);
    expect(statSync(join(root, 'new/folder/b.txt')).mode & 0o777).toBe(0o644 & ~process.umask());
    expect(readdirSync(root).filter((name) => name.startsWith('.tooldex'))).toEqual([]);
  });

  it('reading and writing replaces a hard link instead of writing through it', async () => {
    execFileSync('ln', [join(outside, 'secret.txt'), join(root, 'hard')]);
    await wall.writeText('hard', 'changed');
    expect(outsideState()).toEqual([`secret.txt=${SECRET}`]);
  });

  it('reading and writing removes and moves a link, never its target', async () => {
    await wall.remove('link-file');
    await wall.move('link-dir', 'moved-link');
    expect(lstatSync(join(root, 'moved-link')).isSymbolicLink()).toBe(true);
    expect(outsideState()).toEqual([`secret.txt=${SECRET}`]);
    expect(await codeOf(wall.readText('moved-link/secret.txt'))).toBe('FORBIDDEN_PATH');
  });

  it('walk returns files in order, and skips links, .git, node_modules, and secrets', async () => {
    mkdirSync(join(root, 'node_modules/x'), { recursive: true });
    writeFileSync(join(root, 'node_modules/x/i.js'), '');
    expect(await wall.walk('.')).toEqual({ files: ['a.txt', 'src/b.ts'], truncated: false });
    expect(await wall.walk('link-inside')).toEqual({ files: ['src/b.ts'], truncated: false });
  });

  it('walk stops at its limits and reports truncation', async () => {
    expect((await new FileWall(join(root, 'src'), { maxWalkEntries: 3 }).walk('.')).truncated).toBe(
      false,
    );
    mkdirSync(join(root, 'many'));
    for (let index = 0; index < 20; index++)
      writeFileSync(join(root, 'many', `f${String(index).padStart(2, '0')}`), '');
    const listed = await new FileWall(root, { maxEntries: 5 }).list('many');
    expect([listed.entries.length, listed.entries[0]?.name, listed.truncated]).toEqual([
      5,
      'f00',
      true,
    ]);
    expect(await codeOf(new FileWall(root, { maxWalkEntries: 10 }).walk('many'))).toBe(
      'LIMIT_EXCEEDED',
    );
    mkdirSync(join(root, 'a/'.repeat(80)), { recursive: true });
    expect((await wall.walk('a')).truncated).toBe(true);
  });
});
