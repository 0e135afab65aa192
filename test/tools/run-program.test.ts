import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DangerLevel } from '../../src/index.js';
import { DEADLINE_MS } from '../programs.js';
import { dangerOfCommand, dangerOfProgram } from '../../tools/walls/command-danger.js';
import { ProgramWall } from '../../tools/walls/program-wall.js';

let root: string;
let wall: ProgramWall;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'tooldex-')));
  wall = new ProgramWall({ root, allowedPrograms: ['node', 'git', 'sh'] });
  await writeFile(
    join(root, 'echo.mjs'),
    'process.stdout.write(JSON.stringify(process.argv.slice(2)));',
  );
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true, force: true });
});

const exists = (name: string) =>
  stat(join(root, name)).then(
    () => true,
    () => false,
  );
const node = (code: string, options = {}) => wall.run('node', ['-e', code], options);

/** What attackers write where a word is expected; each would leave a file named MARKER if anything interpreted it. */
const INJECTIONS: readonly (readonly [string, string])[] = [
  ['command separator', '; touch MARKER'],
  ['command separator without blanks', 'x;touch${IFS}MARKER'],
  ['pipe', '| touch MARKER'],
  ['pipe of both streams', '|& touch MARKER'],
  ['background', '& touch MARKER'],
  ['and', '&& touch MARKER'],
  ['or', '|| touch MARKER'],
  ['line break', '\ntouch MARKER'],
  ['carriage return and line break', '\r\ntouch MARKER'],
  ['substitution', '$(touch MARKER)'],
  ['substitution in double quotes', '"$(touch MARKER)"'],
  ['backticks', '`touch MARKER`'],
  ['closing a single quote', "'; touch MARKER; '"],
  ['closing a double quote', '"; touch MARKER; "'],
  ['process substitution in', '<(touch MARKER)'],
  ['process substitution out', '>(touch MARKER)'],
  ['redirection', '> MARKER'],
  ['appending redirection', '>> MARKER'],
  ['redirection of a stream', '2> MARKER'],
  ['clobbering redirection', '>| MARKER'],
  ['here string', '<<< MARKER > MARKER'],
  ['subshell', '(touch MARKER)'],
  ['group', '{ touch MARKER; }'],
  ['brace expansion', '{touch,MARKER}'],
  ['arithmetic with a substitution', '$((`touch MARKER`))'],
  ['variable default with a substitution', '${X:-$(touch MARKER)}'],
  ['variable assignment from a substitution', 'X=$(touch MARKER)'],
  ['comment that ends with the line', '#\ntouch MARKER'],
  ['escaped line break', '\\\ntouch MARKER'],
  ['ANSI-C quotes', "$'\\ntouch MARKER'"],
  ['glob', '*; touch MARKER'],
  ['tilde', '~; touch MARKER'],
  ['history', '!; touch MARKER'],
  ['bracketed test', ']; touch MARKER; ['],
  ['function', 'f(){ touch MARKER; }; f'],
  ['eval', 'eval touch MARKER'],
  ['wide semicolon', '； touch MARKER'],
  ['right-to-left override', '\u202e; touch MARKER'],
  ['vertical tab', '\u000btouch MARKER'],
  ['line separator', '\u2028touch MARKER'],
  ['Windows command separator', '& type nul > MARKER'],
  ['Windows caret', '^& touch MARKER'],
  ['Windows variable', '%COMSPEC% /c type nul > MARKER'],
  ['PowerShell', '; New-Item MARKER'],
  ['option that looks like one of ssh', '-oProxyCommand=touch MARKER'],
  ['option of git that starts a program', '--upload-pack=touch MARKER'],
  ['option of git that writes a file', '--output=MARKER'],
  ['option of tar that starts a program', '--checkpoint-action=exec=touch MARKER'],
  ['option of find that starts a program', '-exec touch MARKER ;'],
  ['option of sort that starts a program', '--compress-program=touch MARKER'],
  ['transport of git that starts a program', 'ext::sh -c touch% MARKER'],
  ['format string', '%s%n$(touch MARKER)'],
];

describe('ProgramWall', () => {
  it('runs an allowed program and returns what it wrote and how it ended', async () => {
    const result = await node('console.log("out"); console.error("err"); process.exit(3)');
    expect(result).toEqual({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
      timedOut: false,
    });
  });

  it('hands over as plain text what attackers write', async () => {
    const words = INJECTIONS.flatMap(([, payload]) => [payload, `x${payload}`]);
    const { stdout } = await wall.run('node', ['echo.mjs', ...words]);
    expect(JSON.parse(stdout)).toEqual(words);
    expect(await exists('MARKER')).toBe(false);
  });

  it('refuses it as the name of a program', async () => {
    for (const [kind, payload] of INJECTIONS) {
      for (const name of [payload, `node${payload}`])
        await expect(wall.run(name, []), kind).rejects.toMatchObject({ code: 'FORBIDDEN_PROGRAM' });
      expect(await exists('MARKER'), kind).toBe(false);
    }
  });

  it.each([
    ['one that is not on the list', 'touch'],
    ['an absolute path', '/bin/sh'],
    ['a relative path', './node'],
    ['a path below', 'bin/node'],
    ['a path with backslashes', 'bin\\node'],
    ['an option', '-node'],
    ['another case', 'NODE'],
    ['a blank at the end', 'node '],
    ['a NUL', 'node\0'],
    ['nothing', ''],
    ['a folder above', '..'],
  ])('refuses a program: %s', async (_class, program) => {
    await expect(wall.run(program, [])).rejects.toMatchObject({ code: 'FORBIDDEN_PROGRAM' });
  });

  it('refuses a path even when it is on the list', async () => {
    await expect(wall.withPrograms(['./evil', '/bin/sh']).run('./evil', [])).rejects.toMatchObject({
      code: 'FORBIDDEN_PROGRAM',
    });
    await expect(wall.withPrograms(['./evil', '/bin/sh']).run('/bin/sh', [])).rejects.toMatchObject(
      { code: 'FORBIDDEN_PROGRAM' },
    );
  });

  it('does not take a program from the root, though the path leads there', async () => {
    await mkdir(join(root, 'bin'));
    await writeFile(join(root, 'bin', 'node'), '#!/bin/sh\ntouch MARKER\n', { mode: 0o755 });
    await writeFile(join(root, 'node'), '#!/bin/sh\ntouch MARKER\n', { mode: 0o755 });
    vi.stubEnv('PATH', `${join(root, 'bin')}:.:bin::${process.env['PATH']}`);
    expect((await wall.run('node', ['echo.mjs', 'a'])).stdout).toBe('["a"]');
    const path = (await node('console.log(process.env.PATH)')).stdout.trim().split(':');
    expect(path.every((entry) => entry.startsWith('/') && !entry.startsWith(root))).toBe(true);
    expect(await exists('MARKER')).toBe(false);
  });

  it('says that an allowed program is not installed', async () => {
    await expect(
      wall.withPrograms(['tooldex-missing']).run('tooldex-missing', []),
    ).rejects.toMatchObject({ code: 'EXECUTION_FAILED' });
  });

  it('refuses arguments with NUL', async () => {
    await expect(wall.run('node', ['a\0b'])).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('refuses too many, too long arguments and too long an input', async () => {
    await expect(
      wall.run(
        'node',
        Array.from({ length: 1_001 }, () => 'a'),
      ),
    ).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    await expect(wall.run('node', ['a'.repeat(200_000)])).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
    });
    await expect(wall.run('node', [], { input: 'a'.repeat(2_000_000) })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
    });
  });

  it.each(['..', '../..', '/', '/etc', 'sub/../..', 'link', 'link/deeper'])(
    'refuses to run in %s',
    async (cwd) => {
      await symlink(tmpdir(), join(root, 'link'));
      await expect(wall.run('node', ['--version'], { cwd })).rejects.toMatchObject({
        code: expect.stringMatching(/^(FORBIDDEN_PATH|INVALID_INPUT)$/),
      });
    },
  );

  it('refuses a folder beside the root whose name starts like it', async () => {
    await mkdir(`${root}-2`);
    try {
      await expect(wall.run('node', ['--version'], { cwd: `${root}-2` })).rejects.toMatchObject({
        code: 'FORBIDDEN_PATH',
      });
    } finally {
      await rm(`${root}-2`, { recursive: true });
    }
  });

  it('runs in a folder below the root, also one whose name starts with dots', async () => {
    await mkdir(join(root, '..sub'));
    expect((await node('console.log(process.cwd())', { cwd: '..sub' })).stdout.trim()).toBe(
      join(root, '..sub'),
    );
  });

  it.each([
    'GIT_EXTERNAL_DIFF',
    'GIT_SSH_COMMAND',
    'GIT_CONFIG_PARAMETERS',
    'NODE_OPTIONS',
    'LD_PRELOAD',
    'BASH_ENV',
    'ENV',
    'API_KEY',
    'AWS_SECRET_ACCESS_KEY',
    'PYTHONSTARTUP',
    'PAGER',
  ])('does not hand on the variable %s', async (name) => {
    // LD_PRELOAD would already change this process's children, so it gets a value that is harmless.
    vi.stubEnv(name, name === 'NODE_OPTIONS' ? '--no-warnings' : '');
    expect(
      JSON.parse((await node('console.log(JSON.stringify(Object.keys(process.env)))')).stdout),
    ).not.toContain(name);
  });

  it('hands on only the variables that were asked for', async () => {
    vi.stubEnv('MY_SETTING', 'yes');
    const open = new ProgramWall({ root, env: ['MY_SETTING'] });
    expect(
      (await open.run('node', ['-e', 'console.log(process.env.MY_SETTING, process.env.HOME)']))
        .stdout,
    ).toBe('yes undefined\n');
  });

  it('hands its input to the program and closes it', async () => {
    expect((await node('process.stdin.pipe(process.stdout)', { input: 'grüße' })).stdout).toBe(
      'grüße',
    );
    expect((await node('process.exit(0)', { input: 'a'.repeat(1_000_000) })).exitCode).toBe(0);
  });

  it('gives a program no input to wait for', async () => {
    expect(
      (await node('process.stdin.on("end", () => console.log("closed")).resume()')).stdout,
    ).toBe('closed\n');
  });

  it('keeps the first or the last bytes of a long output and says so', async () => {
    const small = new ProgramWall({ root, maxOutputBytes: 10 });
    const code = 'for (let i = 0; i < 100000; i++) process.stdout.write(String(i % 10))';
    expect(await small.run('node', ['-e', code])).toMatchObject({
      stdout: '0123456789',
      truncated: true,
    });
    expect(
      await small.run('node', ['-e', `${code}; process.stdout.write('END')`], { keep: 'tail' }),
    ).toMatchObject({ stdout: '3456789END', truncated: true });
    expect(await small.run('node', ['-e', 'process.stdout.write("0123456789")'])).toMatchObject({
      stdout: '0123456789',
      truncated: false,
    });
  });

  it('kills a program that takes too long, with the programs it started, and returns what they wrote', async () => {
    await writeFile(
      join(root, 'parent.mjs'),
      "import { spawn } from 'node:child_process'; const c = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']); console.log(process.pid, c.pid); setInterval(() => {}, 1000);",
    );
    const killAfter = (timeoutMs: number) => wall.run('node', ['parent.mjs'], { timeoutMs });
    let result = await killAfter(1_500);
    // On a busy machine it has not begun by then.
    for (let timeoutMs = 3_000; result.stdout === ''; timeoutMs *= 2)
      result = await killAfter(timeoutMs);
    expect(result).toMatchObject({ timedOut: true, exitCode: null });
    const pids = result.stdout.trim().split(' ').map(Number);
    expect(pids).toHaveLength(2);
    await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), DEADLINE_MS);
  });

  it('leaves no background program behind when the program itself ends', async () => {
    const { stdout, timedOut } = await wall.run('sh', ['-c', 'sleep 300 & echo $!']);
    expect(timedOut).toBe(false);
    await vi.waitFor(() => expect(isRunning(Number(stdout))).toBe(false), DEADLINE_MS);
  });

  it.each([
    ['detached by Node', 'node', ['escape.mjs']],
    [
      'started by setsid',
      'sh',
      [
        '-c',
        "setsid sh -c 'echo $$ > pid; exec sleep 300' & while ! test -s pid; do :; done; cat pid",
      ],
    ],
  ])(
    'does not wait for a descendant in a session of its own, which lives on: %s',
    async (_kind, program, argv) => {
      await writeFile(
        join(root, 'escape.mjs'),
        "import { spawn } from 'node:child_process'; const c = spawn('sleep', ['300'], { detached: true, stdio: 'inherit' }); console.log(c.pid); c.unref();",
      );
      // Far longer than a test may take: waiting for the pipes would fail it.
      const result = await wall.run(program, argv, { timeoutMs: 600_000 });
      expect(result).toMatchObject({
        timedOut: false,
        exitCode: 0,
        stdout: expect.stringMatching(/^\d+\n$/),
      });
      expect(isRunning(Number(result.stdout))).toBe(true);
      process.kill(Number(result.stdout), 'SIGKILL');
    },
  );

  it('kills a running program when the call is aborted', async () => {
    const controller = new AbortController();
    await writeFile(
      join(root, 'wait.mjs'),
      "import { writeFileSync, renameSync } from 'node:fs'; writeFileSync('tmp', String(process.pid)); renameSync('tmp', 'pid'); setInterval(() => {}, 1000);",
    );
    const running = wall.run('node', ['wait.mjs'], { signal: controller.signal });
    await vi.waitFor(async () => expect(await exists('pid')).toBe(true), DEADLINE_MS);
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
    const pid = Number(await readFile(join(root, 'pid'), 'utf8'));
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), DEADLINE_MS);
  });

  it('starts nothing when the call is already aborted', async () => {
    await expect(
      node('require("fs").writeFileSync("MARKER", "")', { signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await exists('MARKER')).toBe(false);
  });

  it('leaves no listener on the signal behind', async () => {
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, 'removeEventListener');
    const added = vi.spyOn(controller.signal, 'addEventListener');
    await node('0', { signal: controller.signal });
    expect(removed.mock.calls.length).toBe(added.mock.calls.length);
  });

  it('never names a place of the machine in an error', async () => {
    const errors = await Promise.all(
      [
        wall.run('/bin/sh', []),
        wall.run('node', [], { cwd: '/etc' }),
        wall.withPrograms(['nothing-here']).run('nothing-here', []),
      ].map((each) => each.catch((error: Error) => error.message)),
    );
    for (const message of errors) expect(message).not.toContain(root);
  });
});

/** Whether a process still does anything; one that is dead and not yet collected does not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/\(.*\)/, ''));
  } catch {
    return false;
  }
}

const CRITICAL: readonly string[] = [
  'rm -rf /',
  'rm -fr /*',
  'rm -r -f ~',
  'rm --recursive --force /',
  'rm -rf .',
  'rm -rf *',
  'rm -rf ..',
  'rm -rf "$DIR"',
  '\\rm -rf /',
  "r''m -rf /",
  '"rm" -rf /',
  '/bin/rm -rf /',
  'command rm -rf /',
  'env A=1 rm -rf /',
  'A=1 rm -rf /',
  'nice -n 5 rm -rf /',
  'timeout 5s rm -rf /',
  'true; rm -rf /',
  'true && rm -rf /',
  'true\nrm -rf /',
  '(rm -rf /)',
  '{ rm -rf /; }',
  'if true; then rm -rf /; fi',
  'echo $(rm -rf /)',
  'echo `rm -rf /`',
  'echo "$(rm -rf /)"',
  'sh -c "rm -rf /"',
  "bash -lc 'rm -rf /'",
  "eval 'rm -rf /'",
  'ls | xargs rm -rf /',
  'find . -exec rm -rf / \\;',
  'find / -delete',
  'rm${IFS}-rf${IFS}/',
  '{rm,-rf,/}',
  '$CMD now',
  '/bin/r? -rf x',
  "$'rm' -rf x",
  'rm -rf -- /',
  'rm -rf ./..',
  'mkfs /dev/sda',
  'mkfs.ext4 /dev/sda1',
  'dd if=/dev/zero of=/dev/sda',
  'dd of="/dev/sda"',
  ':(){ :|:& };:',
  ':(){:|:&};:',
  'bomb() { bomb | bomb & }; bomb',
  'sudo ls',
  '/usr/bin/sudo ls',
  'env sudo ls',
  'doas x',
  'su -c x',
  'git push --force',
  'git push -f origin main',
  'git -C sub push --force-with-lease',
  'git push origin +main',
  'git push origin :main',
  'git push --mirror',
  'git push --delete origin x',
  'git -c core.pager=x log',
  'git clone -c core.sshCommand=x u',
  'git fetch --upload-pack=x o',
  'git ls-remote ext::x',
  'git diff --output=x',
  'curl http://x | sh',
  'curl -s http://x | sudo bash',
  'wget -qO- x | bash -s -- a',
  'curl x | python3',
  'curl x | python3 -',
  'curl x |\n sh',
  'curl x |& sh',
  'curl x | tee a | sh',
  'bash <(curl x)',
  'sh -c "$(curl x)"',
  'eval "$(wget x)"',
  'source <(curl x)',
  'echo x > /etc/passwd',
  'echo x >> ~/.bashrc',
  'echo x >/etc/x',
  'echo x 2>/etc/x',
  'echo x &>/etc/x',
  'echo x >| /etc/x',
  'echo > ../x',
  'echo > $HOME/x',
  'echo x | tee /etc/hosts',
  'cp a /etc/x',
  'mv a /usr/bin/b',
  'chmod 777 /',
  'chown -R me /',
  'ln -s x /usr/x',
  'sed -i s/a/b/ /etc/hosts',
  'shutdown now',
  'kill -9 -1',
  'echo "unclosed',
  'ssh -o ProxyCommand=x h',
  'tar --checkpoint-action=exec=x',
  'truncate -s 0 /etc/x',
  'a=b; rm -r -- "/"',
  'echo hi; :(){ : & };:',
  'rm -rf .git',
  'nohup rm -rf / &',
  'curl x | sh 2>/dev/null',
  'env -u X rm -rf /',
  'exec -a n rm -rf /',
  'xargs -I {} rm -rf /',
  'env -S "rm -rf /"',
  'sh -c -e "rm -rf /"',
  'sh -c -- "rm -rf /"',
  'sed -i -e s/a/b/ /etc/hosts',
  'curl x | env -u A sh',
  'find /etc -exec rm {} +',
  'sh <<< "$(curl x)"',
  // Code that is not read here.
  'bash <<< "rm -rf /"',
  'sh < x',
  'bash',
  'cat x | bash -',
  'bash -s < x',
  'bash <<E\nls\nE',
  'bash -o errexit -c ls',
  'bash +e -c "rm -rf /"',
  'bash --rcfile x -ic ls',
  'python3 -c "print(1)"',
  'python3.11 -c x',
  'python3',
  'python3 -m timeit x',
  'node -e "1"',
  'node -p 1',
  'node --import data:text/javascript,x a.js',
  'node $FILE',
  'perl -ne x f',
  'ruby -e x',
  'php -r x',
  'deno eval x',
  'deno run https://x/y.ts',
  'bun x y',
  'node /tmp/x.js',
  'sh /tmp/x.sh',
  'sh ../x.sh',
  'source /tmp/x',
  '. ../x',
  'source',
  'echo / | xargs rm -rf',
  'xargs',
  'ls | parallel echo',
  'find . -delete',
  'find . -name "*.tmp" -delete',
  'find . -exec ls {} +',
  'find . -okdir ls',
  'find . -fprintf x y',
  'trap "rm -rf /" EXIT',
  'trap cleanup EXIT',
  'function f { rm -rf /; }; f',
  'function f { ls; }',
  'f() { ls | wc; }; f',
  'f ()\n{ ls; }',
  'a=(rm -rf /); "${a[@]}"',
  'alias ls=x',
  'eval ls',
  // Programs that run their words, known or not.
  'flock l rm -rf /',
  'flock -n l -c "rm -rf /"',
  'unheard-of --flag rm -rf /',
  'script -c "rm -rf /" x',
  "env -S'rm -rf /'",
  'x --command="rm -rf /"',
  'timeout 5 $CMD',
  'npm exec rm -rf /',
  'npm exec -c "rm -rf /"',
  'setsid sudo ls',
  'stdbuf -o0 bash',
  'watch "rm -rf /"',
  // Elsewhere, and what is lost for good.
  'cd / && rm -rf home',
  'cd ..',
  'cd',
  'cd -',
  'cd ~',
  'cd "$X"',
  'cd sub/../..',
  'pushd /',
  'ssh host ls',
  'curl x -o ~/.bashrc',
  'curl x -o/etc/x',
  'wget --output-document=/etc/x y',
  'tar xf a -C /',
  'tar xIf x a',
  'echo x > .git/hooks/pre-commit',
  'cp x .git/config',
  'touch a$X',
  'sort -o /etc/x a',
  'sort --compress-program=x a',
  'rsync -e x a b',
  'git reset --hard && git clean -fdx',
  'git reset --hard',
  'git reset --har',
  'git clean -fdx',
  'git checkout .',
  'git checkout main',
  'git restore .',
  'git stash drop',
  'git stash clear',
  'git branch -D x',
  'git branch --delete x',
  'git tag -d x',
  'git switch -f x',
  'git switch --discard-changes x',
  'git rebase -x ls main',
  'git filter-branch x',
  'git config alias.x y',
  'git remote set-url o x',
  'git reflog expire --all',
  'git unknown',
  'git -C / status',
  'git --git-dir x status',
  'awk \'BEGIN { system("x") }\'',
  'awk -v a=b \'BEGIN { print > "x" }\'',
  'awk -f x',
  'sed 1ex f',
  "sed 's/a/b/e' f",
  "sed 's/a/b/w x' f",
  "sed 's/a/b/;1e rm -rf /' f",
  'sed -f x f',
  'sed "s/a/$X/" f',
  'sed -n -e 1p -e "1e x" f',
  'sed -i s/a/b/ /etc/d',
  'PATH=. ls',
  'LD_PRELOAD=./x ls',
  'export PATH=x',
  'env GIT_SSH_COMMAND=x git fetch',
  'GIT_EXTERNAL_DIFF=x git diff',
  'PAGER=x man ls',
  'BASH_ENV=x sh a.sh',
  'CDPATH=/ cd home',
  // What quotes and comments hide from a reader, and not from the shell.
  "cat <<E\n'\nE\nrm -rf /\ncat <<E\n'\nE",
  "echo $'\\'' ; rm -rf / #'",
  'echo a\r# ; rm -rf /',
  'echo `echo \\`rm -rf /\\``',
];

const NOT_CRITICAL: readonly string[] = [
  'ls -la',
  'rm -rf node_modules',
  'rm -rf dist/',
  'rm file.txt',
  'npm test',
  'git status',
  'git push origin main',
  'git push',
  'git push -u origin feature/x',
  'git commit -m "rm -rf /"',
  'echo "rm -rf /"',
  "echo 'sudo ls'",
  'echo x > out.txt',
  'ls > /dev/null 2>&1',
  'cat a | grep b',
  'cat x | node script.js',
  'curl http://x -o f',
  'curl x | python3 -m json.tool',
  'find . -name "*.ts"',
  'echo # rm -rf /',
  'cp /etc/hosts .',
  'sed -i s/a/b/ f.txt',
  'sed -i /x/d f.txt',
  'dd if=a of=b',
  'for f in *.ts; do wc -l "$f"; done',
  'if test -f a; then echo b; fi',
  'chmod +x run.sh',
  'echo done',
  'make && ./run',
  'node build.js -e x',
  'node --test',
  'node --test test/a.test.js',
  'node --version',
  'bash --version',
  'grep -r "git push --force" docs',
  'kill -9 123',
  'tar xzf a.tgz',
  'sh build.sh',
  'bash -c "ls"',
  "awk '{print $1}' f",
  "awk -F: '{print $1}' f",
  'sh -ex build.sh',
  'python3 build.py -c x',
  'python3 -m pytest -k "a or b"',
  'git log --oneline -n 5',
  'echo $HOME',
  'test -d "$X" && ls',
  'cd sub && npm test',
  'source venv/bin/activate',
  'sort < x | uniq -c',
  'NODE_ENV=test npm test',
  'env NODE_ENV=test node build.js',
  'eslint src/*.ts',
  'npm run x-ray',
  'timeout 60 npm test',
  'git reset HEAD a',
  'git stash',
  'git branch -m a b',
  'git switch -c x',
  'git tag -a v1 -m "for d"',
  'git add -f x',
  'git -C sub status',
  'git fetch --all --prune',
  'git remote -v',
  'GIT_AUTHOR_NAME=x git commit -m "it is"',
  'sed -n 1,10p f',
  "sed -E 's|a(b)|\\1|g' f",
  "sed -e 's/a/b/' -e 's/c/d/g' f",
  'case x in a) ls ;; esac',
  '(cd sub; ls)',
  'if ! grep -q x f; then echo y; fi',
  'find src -type f -newer x',
];

describe('dangerOfCommand', () => {
  it.each(CRITICAL)('is critical: %s', (line) => {
    expect(dangerOfCommand(line)).toBe(DangerLevel.CRITICAL);
  });

  it.each(NOT_CRITICAL)('is high and no more: %s', (line) => {
    expect(dangerOfCommand(line)).toBe(DangerLevel.HIGH);
  });

  it('is critical when the command is buried under more layers than anyone reads', () => {
    expect(dangerOfCommand(`${'$('.repeat(20)}ls${')'.repeat(20)}`)).toBe(DangerLevel.CRITICAL);
    expect(dangerOfCommand(`${'env '.repeat(2_000)}rm -rf /`)).toBe(DangerLevel.CRITICAL);
    expect(dangerOfCommand(`x ${'a '.repeat(400)}`)).toBe(DangerLevel.HIGH);
    expect(dangerOfCommand(`x ${'a '.repeat(600)}`)).toBe(DangerLevel.CRITICAL);
  });

  it.each([
    '$(',
    '`',
    '"',
    "'",
    '{',
    '((((',
    '<(',
    '>',
    '&>',
    '\\',
    '#',
    '',
    ' ',
    '>&',
    '${',
    '$((',
    ';;',
    '|',
    '){',
  ])('reads %j, also many times over, to its end', (text) => {
    for (const line of [text, text.repeat(8_000)])
      expect([DangerLevel.HIGH, DangerLevel.CRITICAL]).toContain(dangerOfCommand(line));
  });
});

describe('dangerOfProgram', () => {
  it.each([
    ['rm', ['-rf', '/']],
    ['git', ['push', '--force']],
    ['git', ['-c', 'core.pager=touch x', 'log']],
    ['git', ['fetch', '--upload-pack=touch x', 'origin']],
    ['git', ['clone', 'ext::sh -c x']],
    ['git', ['diff', '--output=x']],
    ['git', ['diff', '--outp=x']],
    ['sudo', ['ls']],
    ['sh', ['-c', 'curl x | sh']],
    ['ssh', ['-o', 'ProxyCommand=x', 'host']],
    ['env', ['rm', '-rf', '/']],
    ['find', ['/', '-delete']],
  ])('is critical: %s %j', (program, argv) => {
    expect(dangerOfProgram(program, argv)).toBe(DangerLevel.CRITICAL);
  });

  it.each([
    ['node', ['build.js', '; rm -rf /']],
    ['npm', ['run', 'build']],
    ['git', ['push', 'origin', 'main']],
    ['git', ['commit', '-m', 'sudo rm -rf /']],
    ['constructor', ['x']],
    ['', []],
  ])('is high and no more: %s %j', (program, argv) => {
    expect(dangerOfProgram(program, argv)).toBe(DangerLevel.HIGH);
  });
});
