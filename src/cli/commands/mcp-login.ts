import { spawn } from 'node:child_process';
import { command } from '../command/command.js';
import { CONFIG_OPTIONS, openMcpDiscovery } from '../load/load-mcp-tools.js';
import { flag } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf } from '../terminal/table.js';
import { interruptible, paint, plainLine, seenText } from '../terminal/terminal.js';

export const mcpLogin = command({
  options: { ...CONFIG_OPTIONS, noBrowser: flag('only print the address') },
  examples: ['mcp login tickets', 'mcp login tickets --no-browser'],
  run: async (context) => {
    const { terminal, options, words } = context;
    const server = words[0]!;
    const discovery = await openMcpDiscovery(context);
    return interruptible(terminal, async (signal) => {
      try {
        await discovery.login(server, {
          signal,
          open: (address) => {
            const origin = paint(terminal, 'bold', seenText(new URL(address).origin));
            terminal.err(`Log in at ${origin}:\n${seenText(address)}`);
            if (!options.noBrowser && terminal.interactive) openBrowser(address);
          },
        });
        const status = discovery.status().find((each) => each.server === server);
        if (status !== undefined && 'reason' in status) {
          terminal.err(`${paint(terminal, 'red', '✗')} ${plainLine(status.reason)}`);
          return EXIT.findings;
        }
        terminal.out(
          `${paint(terminal, 'green', '✓')} logged in to ${server}, ${amountOf(status?.tools ?? 0, 'tool')}`,
        );
        return EXIT.ok;
      } catch (error) {
        if (signal.aborted) return EXIT.interrupted;
        throw error;
      } finally {
        await discovery.close();
      }
    });
  },
});

export const mcpLogout = command({
  options: CONFIG_OPTIONS,
  examples: ['mcp logout tickets'],
  run: async (context) => {
    const { terminal, words } = context;
    const discovery = await openMcpDiscovery(context);
    try {
      await discovery.logout(words[0]);
      terminal.out(`${paint(terminal, 'green', '✓')} logged out of ${words[0]!}`);
    } finally {
      await discovery.close();
    }
  },
});

/** The programs that open an address, by platform. The address is an argument of its own, which no shell reads. */
const OPENERS: Readonly<
  Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>
> = { darwin: ['open'], win32: ['rundll32', 'url.dll,FileProtocolHandler'] };

/** Tries to open the user's browser. If there is none, the user has the printed address. */
function openBrowser(address: string): void {
  const [opener, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(opener, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
