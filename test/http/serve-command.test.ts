import { describe, expect, it } from 'vitest';
import { serveCatalogue, type ServeCommandOptions } from '../../src/cli/commands/serve.js';
import { runCli } from '../../src/cli/run-cli.js';
import { isToolError } from '../../src/index.js';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import { FakeTerminal } from '../cli/fake-terminal.js';
import type { Json } from './catalogue-fixture.js';

/** A terminal that tells when something is printed. */
class WatchedTerminal extends FakeTerminal {
  #waiting: (() => void)[] = [];

  override out = (text: string): void => {
    this.printed += `${text}\n`;
    this.#wake();
  };

  override err = (text: string): void => {
    this.told += `${text}\n`;
    this.#wake();
  };

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

async function running(options: ServeCommandOptions, env: NodeJS.ProcessEnv, test: (url: string, terminal: WatchedTerminal) => Promise<void>): Promise<number> {
  const terminal = new WatchedTerminal();
  const code = serveCatalogue(terminal, { port: 0, ...options }, process.cwd(), {}, env);
  await Promise.race([terminal.until(() => /http:\S+/.test(terminal.printed)), code]);
  try {
    await test(/http:[^\s"]+/.exec(terminal.printed)![0], terminal);
  } finally {
    terminal.interrupt();
  }
  return code;
}

describe('tooldex serve', () => {
  it('shows the bundled tools, and ends with 0 when it is interrupted', async () => {
    let address = '';
    const code = await running({}, {}, async (url, terminal) => {
      address = url;
      const { total } = (await (await fetch(`${url}/tools`)).json()) as Json;
      expect(total).toBeGreaterThan(40);
      expect(terminal.printed).toContain(`${total} tools, 0 findings`);
    });
    expect(code).toBe(0);
    await expect(fetch(address)).rejects.toThrow();
  });

  it('prints one line of JSON for programs', async () => {
    const tree = new ManifestTree({ 'functions.json': [toolEntry('a'), { ...toolEntry('b'), side_effects: 1 }] });
    await running({ manifests: tree.root, json: true }, {}, async (url, terminal) => {
      expect(terminal.printed.trim().split('\n')).toHaveLength(1);
      expect(JSON.parse(terminal.printed)).toEqual({ url, tools: 1, findings: 1 });
    });
  });

  it('follows the manifests while it runs', async () => {
    const tree = new ManifestTree({ 'functions.json': [toolEntry('a')] });
    await running({ manifests: tree.root }, {}, async (url, terminal) => {
      tree.write('functions.json', [toolEntry('a'), toolEntry('added')]);
      await terminal.until(() => terminal.told.includes('revision 2: 1 added, 0 edited, 0 removed'));
      expect((await fetch(`${url}/tools/added`)).status).toBe(200);
    });
  });

  it('takes the token out of the environment, and the option before it', async () => {
    const env = { TOOLDEX_TOKEN: 'token-of-the-environment' };
    const status = (url: string, token: string) => fetch(`${url}/health`, { headers: { authorization: `Bearer ${token}` } }).then((response) => response.status);
    await running({}, env, async (url) => {
      expect([await status(url, 'token-of-the-environment'), await status(url, 'another-token-0000')]).toEqual([200, 401]);
    });
    await running({ token: 'token-of-the-option' }, env, async (url, terminal) => {
      expect([await status(url, 'token-of-the-option'), await status(url, 'token-of-the-environment')]).toEqual([200, 401]);
      expect(terminal.printed + terminal.told).not.toContain('token-of');
    });
  });

  it('refuses an address of others without a token, and a persona', async () => {
    for (const options of [{ host: '0.0.0.0' }, { persona: 'Atlas' }]) {
      expect(isToolError(await serveCatalogue(new WatchedTerminal(), { port: 0, ...options }, process.cwd(), {}, {}).catch((error: unknown) => error), 'INVALID_ARGUMENT')).toBe(true);
    }
  });
});

describe('the command line', () => {
  it('explains serve, and refuses a wrong port', async () => {
    const run = async (...args: string[]) => {
      const terminal = new FakeTerminal();
      return { code: await runCli(args, terminal, process.cwd()), terminal };
    };
    const help = await run('serve', '--help');
    expect(help.code).toBe(0);
    for (const option of ['--port', '--host', '--token', 'TOOLDEX_TOKEN', '--manifests']) expect(help.terminal.printed).toContain(option);
    expect((await run('serve', '--port', 'x')).code).toBe(2);
    const refused = await run('serve', '--port', '99999', '--json');
    expect([refused.code, (JSON.parse(refused.terminal.printed) as Json).error.code]).toEqual([2, 'INVALID_ARGUMENT']);
  });
});
