import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { EXIT } from '../terminal/exit-codes.js';
import { openMcpDiscovery } from '../load/load-mcp-tools.js';
import type { CommandHost } from '../load/options.js';
import { amountOf } from '../terminal/table.js';
import { paint, plainLine, seenText, type Dialog } from '../terminal/terminal.js';
import { CONFIG_OPTION, configOf } from './mcp-pins.js';

/** Adds `tooldex mcp login` and `tooldex mcp logout`. */
export function defineLogin(mcp: Command, { terminal, cwd, alone }: CommandHost): void {
  const login = mcp
    .command('login <server>')
    .description('logs in at a server over HTTP, with a browser on this machine')
    .option(...CONFIG_OPTION)
    .option('--no-browser', 'prints the address only');
  alone(login, ['mcp login tickets', 'mcp login tickets --no-browser'], (options, [server]) =>
    mcpLogin(terminal, server!, options, cwd),
  );
  const logout = mcp
    .command('logout <server>')
    .description('forgets the login at a server')
    .option(...CONFIG_OPTION);
  alone(logout, ['mcp logout tickets'], (options, [server]) =>
    mcpLogout(terminal, server!, options, cwd),
  );
}

interface LoginOptions {
  readonly config?: string;
  readonly mcp?: string;
  readonly browser?: boolean;
}

/** Logs in at a server of the settings. @returns 1 when the server does not answer with its tools afterwards. */
async function mcpLogin(
  terminal: Dialog,
  server: string,
  options: LoginOptions,
  cwd: string,
): Promise<number> {
  const discovery = await openMcpDiscovery(configOf(options), terminal, cwd);
  const interrupt = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupt.abort());
  try {
    await discovery.login(server, {
      signal: interrupt.signal,
      open: (address) => {
        terminal.err(
          `Log in at ${paint(terminal, 'bold', seenText(new URL(address).origin))}:\n${seenText(address)}`,
        );
        if (options.browser !== false && terminal.interactive) openBrowser(address);
      },
    });
    const status = discovery.status().find((each) => each.server === server);
    if (status !== undefined && 'reason' in status) {
      terminal.err(`${paint(terminal, 'red', '✗')} ${plainLine(status.reason)}`);
      return EXIT.findings;
    }
    terminal.out(
      `${paint(terminal, 'green', '✓')} logged in at ${server}, ${amountOf(status?.tools ?? 0, 'tool')}`,
    );
    return EXIT.ok;
  } catch (error) {
    if (interrupt.signal.aborted) return EXIT.interrupted;
    throw error;
  } finally {
    stopListening();
    await discovery.close();
  }
}

async function mcpLogout(
  terminal: Dialog,
  server: string,
  options: LoginOptions,
  cwd: string,
): Promise<number> {
  const discovery = await openMcpDiscovery(configOf(options), terminal, cwd);
  try {
    await discovery.logout(server);
    terminal.out(`${paint(terminal, 'green', '✓')} the login at ${server} is forgotten`);
    return EXIT.ok;
  } finally {
    await discovery.close();
  }
}

/** The programs that open an address, by platform. The address is an argument of its own, which no shell reads. */
const OPENERS: Readonly<
  Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>
> = { darwin: ['open'], win32: ['rundll32', 'url.dll,FileProtocolHandler'] };

/** Tries to open the user's browser; the address was printed, so that nothing is lost where there is none. */
function openBrowser(address: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
