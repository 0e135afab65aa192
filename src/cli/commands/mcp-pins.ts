import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { onAbort } from '../../core/listeners.js';
import { poisonedTexts } from '../../core/poisoned-text.js';
import { DefinitionPins } from '../../mcp/pins/definition-pins.js';
import { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import type { McpSettings } from '../../mcp/settings/read-mcp-settings.js';
import type { PinFinding, ServerListing } from '../../mcp/pins/definition-changes.js';
import type { PinnedDefinition } from '../../mcp/pins/pin.js';
import { command, print, type Context } from '../command/command.js';
import { shownArguments } from '../execute/shown-call.js';
import { CONFIG_OPTIONS, readMcpConfig } from '../load/load-mcp-tools.js';
import { flag, text, type Options, type Values } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf } from '../terminal/table.js';
import {
  agrees,
  interruptible,
  paint,
  plainJson,
  plainLine,
  seenText,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

const OPTIONS = {
  ...CONFIG_OPTIONS,
  lock: text('<file>', 'the lock file (default: tooldex-pins.json next to the settings)'),
} satisfies Options;

const APPROVE_OPTIONS = {
  ...OPTIONS,
  all: flag('approve everything that differs'),
  yes: flag('approve without asking'),
} satisfies Options;

/** CI relies on these. */
const notes = `
Exit codes:
  0    nothing differs, or you approved all of it
  1    something differs: a tool is new, changed, removed or can't be pinned
  2    wrong usage, or a lock file that is missing or refused
  3    a server doesn't answer, and nothing else differs
  4    approval is needed, and nobody gave it
  130  interrupted`;
const EXIT_UNREACHABLE = 3;

export const verify = command({
  options: OPTIONS,
  notes,
  examples: ['mcp pins verify'],
  run: (context) => comparePins(context, 'verify'),
});

export const diff = command({
  options: OPTIONS,
  notes,
  examples: ['mcp pins diff', 'mcp pins diff mcp.memory.read_graph'],
  run: (context) => comparePins(context, 'diff'),
});

export const approve = command({
  options: APPROVE_OPTIONS,
  notes,
  examples: ['mcp pins approve --all', 'mcp pins approve mcp.memory.read_graph --yes'],
  run: (context) => {
    if (context.words.length > 0 === context.options.all)
      throw wrongUsage('Name the tools to approve, or use --all.');
    return comparePins(context, 'approve');
  },
});

/** Asks servers what they list now. */
type ListServers = (
  settings: McpSettings,
  signal: AbortSignal,
) => Promise<readonly ServerListing[]>;

type PinsContext = Context<Values<typeof OPTIONS> & { readonly yes?: boolean }>;

/**
 * Compares what MCP servers list now with the lock file: lists what differs, shows how, or pins it.
 *
 * The operands of diff and approve are names of tools, as verify prints them: `mcp.<server>.<tool>`.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a lock file that is missing (only verify needs one) or refused, and for tools that
 * are unknown or ambiguous.
 */
export async function comparePins(
  context: PinsContext,
  action: 'verify' | 'diff' | 'approve',
  list: ListServers = listServers,
): Promise<number> {
  const { terminal, cwd, words, options } = context;
  const { settings, lock } = await readMcpConfig(context);
  const file = options.lock === undefined ? lock : resolve(cwd, options.lock);
  // Read before any server starts. Without a lock file everything is new, which for CI is an error.
  const pins =
    action !== 'verify' && !existsSync(file)
      ? new DefinitionPins()
      : await DefinitionPins.load(file);
  return interruptible(terminal, async (signal) => {
    const listings = await list(settings, signal);
    if (signal.aborted) return EXIT.interrupted;
    const findings = chosen(pins.verify(listings), words);
    if (action === 'approve') return approveFindings(context, pins, findings, file, signal);
    print(context, { pinned: pins.size, findings }, function* () {
      for (const finding of findings)
        if (action === 'diff') yield* wholeLines(terminal, finding);
        else yield shortLine(terminal, finding);
      const isSame = findings.length === 0;
      const mark = isSame ? paint(terminal, 'green', '✓') : paint(terminal, 'red', '✗');
      yield `${mark} ${amountOf(pins.size, 'tool')} pinned, ${isSame ? 'nothing differs' : countsOf(findings)}`;
    });
    return exitCodeOf(findings);
  });
}

async function listServers(
  settings: McpSettings,
  signal: AbortSignal,
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

/** Shows all findings, asks, and pins them. */
async function approveFindings(
  { terminal, options }: PinsContext,
  pins: DefinitionPins,
  findings: readonly PinFinding[],
  file: string,
  signal: AbortSignal,
): Promise<number> {
  const approvable = findings.filter(({ kind }) => kind !== 'invalid' && kind !== 'unreachable');
  for (const finding of findings)
    for (const line of wholeLines(terminal, finding)) terminal.err(line);
  const report = (approved: readonly PinFinding[], rest: readonly PinFinding[]) => {
    const data = { approved: approved.map(nameOf), pinned: pins.size, findings: rest };
    if (options.json) terminal.out(plainJson(data, 2));
  };
  const what = approvable.length === 1 ? 'this' : `these ${approvable.length}`;
  if (
    approvable.length > 0 &&
    options.yes !== true &&
    !(await agrees(terminal, `Approve ${what}?`, signal))
  ) {
    if (signal.aborted) return EXIT.interrupted;
    terminal.err(
      terminal.interactive
        ? 'Nothing is approved.'
        : 'Nothing is approved, because nobody can be asked. Review the changes with tooldex mcp pins diff, then repeat this command with --yes.',
    );
    report([], findings);
    return EXIT.unconfirmed;
  }
  for (const finding of approvable) {
    if (finding.kind === 'removed') pins.remove(finding.server, finding.tool);
    else if (finding.kind === 'new' || finding.kind === 'changed')
      pins.approve(finding.server, finding.definition);
  }
  // Saved even if nothing was approved: a server without tools can be pinned, too.
  await pins.save(file);
  const rest = findings.filter((finding) => !approvable.includes(finding));
  report(approvable, rest);
  if (!options.json)
    terminal.out(
      `${paint(terminal, 'green', '✓')} ${approvable.length} approved, ${amountOf(pins.size, 'tool')} pinned`,
    );
  return exitCodeOf(rest);
}

/** Returns the findings about the named tools. A server that doesn't answer says nothing about them, so it stays. */
function chosen(findings: readonly PinFinding[], names: readonly string[]): readonly PinFinding[] {
  if (names.length === 0) return findings;
  const unknown = names.find((name) => !findings.some((finding) => nameOf(finding) === name));
  if (unknown !== undefined)
    throw wrongUsage(
      `Nothing differs for ${JSON.stringify(unknown)}. To see the names of the tools that differ, run tooldex mcp pins verify.`,
    );
  return findings.filter(
    (finding) => finding.kind === 'unreachable' || names.includes(nameOf(finding)),
  );
}

function nameOf(finding: PinFinding): string {
  const { kind, server } = finding;
  if (kind === 'unreachable') return server;
  return server === '' ? `mcp.${finding.tool}` : `mcp.${server}.${finding.tool}`;
}

const STYLES: Readonly<Record<PinFinding['kind'], Style>> = {
  new: 'yellow',
  changed: 'red',
  removed: 'yellow',
  invalid: 'red',
  unreachable: 'red',
};

function headline(terminal: Terminal, finding: PinFinding): string {
  return `${paint(terminal, STYLES[finding.kind], finding.kind.padEnd(7))} ${paint(terminal, 'bold', seenText(nameOf(finding)))}`;
}

function shortLine(terminal: Terminal, finding: PinFinding): string {
  const about =
    finding.kind === 'changed'
      ? finding.changes.map(({ path }) => path).join(', ')
      : 'reason' in finding
        ? finding.reason
        : '';
  return `${headline(terminal, finding)}  ${plainLine(about)}`.trimEnd();
}

/** The maximum width of what the user approves. */
const MAX_COLUMNS = 100;

/** Returns everything that is approved with a finding. Nothing is cut, and hidden characters are written out. */
function* wholeLines(terminal: Terminal, finding: PinFinding): Generator<string> {
  if (finding.kind !== 'new' && finding.kind !== 'changed') {
    yield shortLine(terminal, finding);
    return;
  }
  const width = Math.min(terminal.columns, MAX_COLUMNS) - 4;
  const shown = (value: PinnedDefinition | object, indent: string) =>
    shownArguments(value as PinnedDefinition, width).map((line) => indent + line);
  yield headline(terminal, finding);
  // What is easily overlooked: hidden characters, and instructions to models.
  for (const { rule, message } of poisonedTexts({ ...finding.definition }))
    yield `  ${paint(terminal, 'red', rule)} ${plainLine(message)}`;
  if (finding.kind === 'new') yield* shown(finding.definition, '  ');
  else
    for (const { path, ...sides } of finding.changes) {
      yield `  ${paint(terminal, 'cyan', seenText(path))}`;
      yield* shown(sides, '    ');
    }
}

function countsOf(findings: readonly PinFinding[]): string {
  return Object.keys(STYLES)
    .map((kind) => [findings.filter((finding) => finding.kind === kind).length, kind])
    .filter(([count]) => count !== 0)
    .map((parts) => parts.join(' '))
    .join(', ');
}

/** A finding counts more than a server that is down, which must not hide it. */
function exitCodeOf(findings: readonly PinFinding[]): number {
  if (findings.some(({ kind }) => kind !== 'unreachable')) return EXIT.findings;
  return findings.length > 0 ? EXIT_UNREACHABLE : EXIT.ok;
}
