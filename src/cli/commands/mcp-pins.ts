import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { expectedGot, invalidArgument } from '../../core/issues.js';
import { onAbort } from '../../core/listeners.js';
import { poisonedTexts } from '../../core/poisoned-text.js';
import { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import { DefinitionPins } from '../../mcp/pins/definition-pins.js';
import type { PinFinding, ServerListing } from '../../mcp/pins/definition-changes.js';
import type { PinnedDefinition } from '../../mcp/pins/pin.js';
import type { McpSettings } from '../../mcp/settings/read-mcp-settings.js';
import { shownArguments } from '../execute/shown-call.js';
import { EXIT } from '../terminal/exit-codes.js';
import type { CommandHost } from '../load/options.js';
import { readMcpConfig } from '../load/load-mcp-tools.js';
import { amountOf } from '../terminal/table.js';
import {
  plainJson,
  plainLine,
  seenText,
  paint,
  type Dialog,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

export type PinsAction = 'verify' | 'diff' | 'approve';

export interface PinsOptions {
  /** The settings of MCP. @default .mcp.json or mcp.json in the working directory */
  readonly config?: string;
  /** The same, as the option of all commands. */
  readonly mcp?: string;
  /** The lock file. @default tooldex-pins.json beside the settings */
  readonly lock?: string;
  readonly json?: boolean;
  /** Approves everything that differs. */
  readonly all?: boolean;
  /** Approves without a question. */
  readonly yes?: boolean;
}

/** The option of the commands that read settings. */
export const CONFIG_OPTION = [
  '--config <file>',
  'the settings of MCP servers (default: .mcp.json or mcp.json)',
] as const;

/** Returns the settings file that a command reads: that of `--config`, or else that of `--mcp`. */
export function configOf({ config, mcp }: { readonly config?: string; readonly mcp?: string }) {
  return config ?? mcp;
}

/** Adds `tooldex mcp pins` and the commands below it. */
export function definePins(mcp: Command, { terminal, cwd, alone }: CommandHost): void {
  const pins = mcp
    .command('pins')
    .description('compares what servers offer with what was approved');
  const approve = pins
    .command('approve [tools...]')
    .description('shows how it differs, and pins it after approval')
    .option('--all', 'all that differ')
    .option('--yes', 'without a question');
  for (const [action, command, examples] of [
    [
      'verify',
      pins.command('verify').description('what is new, changed or gone; for CI'),
      ['mcp pins verify'],
    ],
    [
      'diff',
      pins.command('diff [tools...]').description('how it differs, leaf by leaf'),
      ['mcp pins diff', 'mcp pins diff memory.read_graph'],
    ],
    ['approve', approve, ['mcp pins approve --all', 'mcp pins approve memory.read_graph --yes']],
  ] as const) {
    command
      .option(...CONFIG_OPTION)
      .option(
        '--lock <file>',
        'the file with what was approved (default: tooldex-pins.json beside the settings)',
      )
      .addHelpText('after', PINS_EXIT_HELP);
    alone(command, examples, (options, tools) =>
      mcpPins(terminal, action, tools, options as unknown as PinsOptions, cwd),
    );
  }
}

/** Asks servers what they list now. */
type ListServers = (
  settings: McpSettings,
  options: { readonly signal: AbortSignal },
) => Promise<readonly ServerListing[]>;

/** The exit code when a server could not be asked, and nothing else differs. Findings count more: a server that is down must not hide them. */
const EXIT_UNREACHABLE = 3;

/** The codes of `tooldex mcp pins`, for its help: CI goes by them. */
const PINS_EXIT_HELP = `
Exit codes:
  0    nothing differs, or all of it was approved
  1    something differs: a tool is new, changed, removed or cannot be pinned
  2    wrong usage, or a lock file that is missing or refused
  3    a server could not be asked, and the others differ in nothing
  4    approval is needed and was not given
  130  interrupted`;

/** The most columns of what is shown for approval. */
const MOST_COLUMNS = 100;
const STYLES: Readonly<Record<PinFinding['kind'], Style>> = {
  new: 'yellow',
  changed: 'red',
  removed: 'yellow',
  invalid: 'red',
  unreachable: 'red',
};

/**
 * Compares what MCP servers list now with the lock file: says what differs, shows how, or pins it.
 *
 * @param tools those that diff and approve look at: `<tool>`, `<server>.<tool>` or `mcp.<server>.<tool>`; all when empty.
 * @throws ToolError `INVALID_ARGUMENT` for a lock file that is missing (only verify needs one) or refused, and for tools that
 * are unknown or could be several.
 */
export async function mcpPins(
  terminal: Dialog,
  action: PinsAction,
  tools: readonly string[],
  options: PinsOptions,
  cwd: string,
  list: ListServers = listServers,
): Promise<number> {
  if (action === 'approve' && tools.length > 0 === (options.all === true))
    throw wrongUsage('the tools to approve, or --all', tools.length > 0 ? 'both' : 'neither');
  const { settings, lock } = await readMcpConfig(configOf(options), terminal, cwd);
  const file = options.lock === undefined ? lock : resolve(cwd, options.lock);
  // Before servers are started: a refused file needs none. Without one everything is new; for CI that is an error.
  const pins =
    action !== 'verify' && !existsSync(file)
      ? new DefinitionPins()
      : await DefinitionPins.load(file);
  const interrupt = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupt.abort());
  try {
    const listings = await list(settings, { signal: interrupt.signal });
    if (interrupt.signal.aborted) return EXIT.interrupted;
    const all = pins.verify(listings);
    const differing = chosen(all, tools, listings, pins);
    if (action !== 'approve') return tell(terminal, action, differing, pins, options.json === true);
    return await approve(terminal, pins, differing, file, options, interrupt.signal);
  } finally {
    stopListening();
  }
}

async function listServers(
  settings: McpSettings,
  { signal }: { readonly signal: AbortSignal },
): Promise<readonly ServerListing[]> {
  const discovery = new McpDiscovery(settings);
  const stopListening = onAbort(signal, () => void discovery.close());
  try {
    await discovery.refresh({ force: true });
    return discovery.rawListings();
  } finally {
    stopListening();
    await discovery.close();
  }
}

function tell(
  terminal: Terminal,
  action: PinsAction,
  differing: readonly PinFinding[],
  pins: DefinitionPins,
  json: boolean,
): number {
  if (json) terminal.out(plainJson({ pinned: pins.size, findings: differing }, 2));
  else {
    for (const finding of differing)
      for (const line of action === 'diff'
        ? shownWhole(terminal, finding)
        : [shortLine(terminal, finding)])
        terminal.out(line);
    terminal.out(
      `${paint(terminal, differing.length === 0 ? 'green' : 'red', differing.length === 0 ? '✓' : '✗')} ${summary(differing, pins.size)}`,
    );
  }
  return exitCodeOf(differing);
}

async function approve(
  terminal: Dialog,
  pins: DefinitionPins,
  differing: readonly PinFinding[],
  file: string,
  { json = false, yes = false }: PinsOptions,
  signal: AbortSignal,
): Promise<number> {
  const approvable = differing.filter(({ kind }) => kind !== 'invalid' && kind !== 'unreachable');
  for (const finding of differing)
    for (const line of shownWhole(terminal, finding)) terminal.err(line);
  if (approvable.length > 0 && !yes && !(await isApproved(terminal, approvable.length, signal))) {
    if (signal.aborted) return EXIT.interrupted;
    terminal.err(
      terminal.interactive
        ? 'nothing is approved'
        : expectedGot(
            'a terminal at which a user approves',
            'none',
            'Look at it (tooldex mcp pins diff) and repeat it with --yes.',
          ),
    );
    if (json) terminal.out(plainJson({ approved: [], pinned: pins.size, findings: differing }, 2));
    return EXIT.unconfirmed;
  }
  for (const finding of approvable) {
    if (finding.kind === 'removed') pins.remove(finding.server, finding.tool);
    else if (finding.kind === 'new' || finding.kind === 'changed')
      pins.approve(finding.server, finding.definition);
  }
  // Also when there is nothing: no tools is a state that can be pinned.
  await pins.save(file);
  const rest = differing.filter((finding) => !approvable.includes(finding));
  const names = approvable.map((finding) => nameOf(finding));
  if (json) terminal.out(plainJson({ approved: names, pinned: pins.size, findings: rest }, 2));
  else
    terminal.out(
      `${paint(terminal, 'green', '✓')} ${names.length} approved, ${amountOf(pins.size, 'tool')} pinned`,
    );
  return exitCodeOf(rest);
}

async function isApproved(terminal: Dialog, count: number, signal: AbortSignal): Promise<boolean> {
  const answer = await terminal.ask(`Approve ${count === 1 ? 'this' : `these ${count}`}? [y/N] `, {
    signal,
  });
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}

/** Returns the findings of the named tools. A server may choose a name that reads like that of another's tool, so all are looked through. */
function chosen(
  differing: readonly PinFinding[],
  tools: readonly string[],
  listings: readonly ServerListing[],
  pins: DefinitionPins,
): readonly PinFinding[] {
  if (tools.length === 0) return differing;
  const known = new Map<string, readonly [server: string, tool: string]>();
  const add = (server: string, tool: string) =>
    void known.set(JSON.stringify([server, tool]), [server, tool]);
  for (const listing of listings) {
    if ('tools' in listing)
      for (const tool of listing.tools) if (hasName(tool)) add(listing.server, tool.name);
  }
  for (const { server, tool } of pins.pinned()) add(server, tool);
  const keys = new Set(tools.map((word) => keyOf(word, known)));
  // What is unknown of a server is also unknown of the named tools.
  return differing.filter(
    (finding) =>
      finding.kind === 'unreachable' || keys.has(JSON.stringify([finding.server, finding.tool])),
  );
}

function keyOf(
  word: string,
  known: ReadonlyMap<string, readonly [server: string, tool: string]>,
): string {
  const meant = [...known].filter(
    ([, [server, tool]]) =>
      word === tool || word === `${server}.${tool}` || word === fullName(server, tool),
  );
  const [first, second] = meant;
  if (first === undefined)
    throw invalidArgument(
      'a tool that a server lists or that is pinned',
      word,
      '`tooldex mcp pins verify` names those that differ.',
    );
  if (second === undefined) return first[0];
  const full = meant.filter(([, [server, tool]]) => word === fullName(server, tool));
  if (full.length === 1) return full[0]![0];
  throw wrongUsage(
    'the name of one tool',
    `${JSON.stringify(word)}, which could be ${meant.map(([, [server, tool]]) => seenText(JSON.stringify(fullName(server, tool)))).join(' or ')}`,
  );
}

function hasName(tool: unknown): tool is { readonly name: string } {
  return (
    typeof tool === 'object' &&
    tool !== null &&
    typeof (tool as { name?: unknown }).name === 'string'
  );
}

function fullName(server: string, tool: string): string {
  return server === '' ? `mcp.${tool}` : `mcp.${server}.${tool}`;
}

function nameOf(finding: PinFinding): string {
  return finding.kind === 'unreachable' ? finding.server : fullName(finding.server, finding.tool);
}

function shortLine(terminal: Terminal, finding: PinFinding): string {
  const about =
    finding.kind === 'changed'
      ? finding.changes.map(({ path }) => path).join(', ')
      : finding.kind === 'invalid' || finding.kind === 'unreachable'
        ? finding.reason
        : '';
  return `${headline(terminal, finding)}${about === '' ? '' : `  ${plainLine(about)}`}`;
}

function headline(terminal: Terminal, finding: PinFinding): string {
  return `${paint(terminal, STYLES[finding.kind], finding.kind.padEnd(7))} ${paint(terminal, 'bold', seenText(nameOf(finding)))}`;
}

/** Returns everything that is approved with a finding: nothing is cut, and what cannot be seen is written out. */
function shownWhole(terminal: Terminal, finding: PinFinding): readonly string[] {
  const width = Math.min(terminal.columns, MOST_COLUMNS) - 4;
  if (finding.kind === 'new')
    return [
      headline(terminal, finding),
      ...oddTexts(terminal, finding.definition),
      ...shownArguments(finding.definition, width, { whole: true }).map((line) => `  ${line}`),
    ];
  if (finding.kind !== 'changed') return [shortLine(terminal, finding)];
  const changes = finding.changes.flatMap(({ path, ...sides }) => [
    `  ${paint(terminal, 'cyan', seenText(path))}`,
    ...shownArguments(sides, width, { whole: true }).map((line) => `    ${line}`),
  ]);
  return [headline(terminal, finding), ...oddTexts(terminal, finding.definition), ...changes];
}

/** Returns what is easily overlooked in the texts of a definition: what is hidden, and what steers models. */
function oddTexts(terminal: Terminal, definition: PinnedDefinition): readonly string[] {
  return poisonedTexts({ ...definition }).map(
    ({ rule, message }) => `  ${paint(terminal, 'red', rule)} ${plainLine(message)}`,
  );
}

function summary(differing: readonly PinFinding[], pinned: number): string {
  const counts = (['new', 'changed', 'removed', 'invalid', 'unreachable'] as const)
    .map((kind) => [kind, differing.filter((finding) => finding.kind === kind).length] as const)
    .filter(([, count]) => count > 0);
  const differences =
    counts.length === 0
      ? 'nothing differs'
      : counts.map(([kind, count]) => `${count} ${kind}`).join(', ');
  return `${amountOf(pinned, 'tool')} pinned, ${differences}`;
}

function exitCodeOf(differing: readonly PinFinding[]): number {
  if (differing.some(({ kind }) => kind !== 'unreachable')) return EXIT.findings;
  return differing.length > 0 ? EXIT_UNREACHABLE : EXIT.ok;
}
