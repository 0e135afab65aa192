import { existsSync } from 'node:fs';
import { onAbort } from '../../core/listeners.js';
import { poisonedTexts } from '../../core/poisoned-text.js';
import { DefinitionPins } from '../../mcp/pins/definition-pins.js';
import { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import type { McpSettings } from '../../mcp/settings/read-mcp-settings.js';
import type { PinFinding, ServerListing } from '../../mcp/pins/definition-changes.js';
import { command, print, type Context } from '../command/command.js';
import { shownArguments } from '../execute/shown-call.js';
import { CONFIG_OPTIONS, readMcpConfig } from '../load/load-mcp-tools.js';
import { flag, type OptionValues } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, countsOf } from '../terminal/table.js';
import {
  agrees,
  interruptible,
  paint,
  plainLine,
  seenText,
  type Terminal,
} from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** CI relies on these exit codes. */
const notes = `
Exit codes:
  0    nothing differs, or you approved all differences
  1    something differs: a tool is new, changed, removed or can't be pinned
  2    wrong usage, or a lock file that is missing or refused
  3    a server doesn't respond, and nothing else differs
  4    approval is needed, and nobody gave it
  130  interrupted`;
const EXIT_UNREACHABLE = 3;

export const commands = {
  'mcp pins verify': command({
    options: CONFIG_OPTIONS,
    notes,
    examples: ['mcp pins verify'],
    run: (context) => comparePins(context, 'verify'),
  }),

  'mcp pins diff': command({
    options: CONFIG_OPTIONS,
    notes,
    examples: ['mcp pins diff', 'mcp pins diff mcp.memory.read_graph'],
    run: (context) => comparePins(context, 'diff'),
  }),

  'mcp pins approve': command({
    options: {
      ...CONFIG_OPTIONS,
      all: flag('approve everything that differs'),
      yes: flag('approve without asking'),
    },
    notes,
    examples: ['mcp pins approve --all', 'mcp pins approve mcp.memory.read_graph --yes'],
    run: (context) => {
      if (context.words.length > 0 === context.options.all)
        throw wrongUsage('Pass the tools to approve, or use --all.');
      return comparePins(context, 'approve');
    },
  }),
};

/** Requests the current tool lists from servers. */
type ListServers = (
  settings: McpSettings,
  signal: AbortSignal,
) => Promise<readonly ServerListing[]>;

type PinsContext = Context<OptionValues<typeof CONFIG_OPTIONS> & { readonly yes?: boolean }>;

/**
 * Compares the tools that MCP servers list now with the lock file, then lists the differences,
 * shows them in full, or pins them.
 *
 * The operands of `diff` and `approve` are tool names as printed by `verify`:
 * `mcp.<server>.<tool>`.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the lock file is refused, or is missing and the action is
 * `verify`. The same error is thrown if a tool is unknown or ambiguous.
 */
export async function comparePins(
  context: PinsContext,
  action: 'verify' | 'diff' | 'approve',
  list: ListServers = listServers,
): Promise<number> {
  const { terminal, words } = context;
  const { settings, lock } = await readMcpConfig(context);
  // Reads the lock file before any server starts.
  // Without a lock file, all tools are new, which `verify` reports as an error for CI.
  const isNew = action !== 'verify' && !existsSync(lock);
  const pins = isNew ? new DefinitionPins() : await DefinitionPins.load(lock);
  return interruptible(terminal, async (signal) => {
    const listings = await list(settings, signal);
    if (signal.aborted) return EXIT.interrupted;
    const findings = chosen(pins.verify(listings), words);
    if (action === 'approve') return approveFindings(context, pins, findings, lock, signal);
    print(context, { pinned: pins.size, findings }, function* () {
      for (const each of findings) yield* linesOf(terminal, each, action === 'diff');
      const counts = countsOf(findings.map(({ kind }) => kind).sort()).join(', ');
      const mark = findings.length === 0 ? paint('green', '✓') : paint('red', '✗');
      yield `${mark} ${amountOf(pins.size, 'tool')} pinned, ${counts || 'nothing differs'}`;
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

/** Shows all findings, asks for approval, and pins them. */
async function approveFindings(
  context: PinsContext,
  pins: DefinitionPins,
  findings: readonly PinFinding[],
  file: string,
  signal: AbortSignal,
): Promise<number> {
  const { terminal, options } = context;
  const approvable = findings.filter(({ kind }) => kind !== 'invalid' && kind !== 'unreachable');
  for (const line of findings.flatMap((each) => [...linesOf(terminal, each, true)]))
    terminal.err(line);
  const what = approvable.length === 1 ? 'this' : `these ${approvable.length}`;
  const isApproved =
    approvable.length === 0 ||
    options.yes === true ||
    (await agrees(terminal, `Approve ${what}?`, signal));
  if (signal.aborted) return EXIT.interrupted;
  const approved = isApproved ? approvable : [];
  for (const finding of approved) {
    if (finding.kind === 'removed') pins.remove(finding.server, finding.tool);
    else if (finding.kind === 'new' || finding.kind === 'changed')
      pins.approve(finding.server, finding.definition);
  }
  // Saves the lock file even if nothing differs, because a server without tools can be pinned too.
  if (isApproved) await pins.save(file);
  else
    terminal.err(
      'Nothing was approved. To approve without a prompt, review the changes with tooldex mcp pins diff, then repeat this command with --yes.',
    );
  const rest = findings.filter((finding) => !approved.includes(finding));
  print(context, { approved: approved.map(nameOf), pinned: pins.size, findings: rest }, () =>
    isApproved
      ? [
          `${paint('green', '✓')} ${approved.length} approved, ${amountOf(pins.size, 'tool')} pinned`,
        ]
      : [],
  );
  return isApproved ? exitCodeOf(rest) : EXIT.unconfirmed;
}

/**
 * Returns the findings about the named tools. Includes all servers that don't respond, because
 * their tools are unknown.
 */
function chosen(findings: readonly PinFinding[], names: readonly string[]): readonly PinFinding[] {
  if (names.length === 0) return findings;
  const unknown = names.find((name) => !findings.some((finding) => nameOf(finding) === name));
  if (unknown !== undefined)
    throw wrongUsage(
      `Nothing differs for ${JSON.stringify(unknown)}. To list the tools that differ, run tooldex mcp pins verify.`,
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

/** The maximum line width, in columns, of definitions shown to the user for approval. */
const MAX_COLUMNS = 100;

/**
 * Returns a finding on one line, or in full with everything that would be approved. Never truncates
 * a finding, and escapes hidden characters.
 */
function* linesOf({ columns }: Terminal, finding: PinFinding, isWhole: boolean): Generator<string> {
  const { kind } = finding;
  const style = kind === 'new' || kind === 'removed' ? 'yellow' : 'red';
  const head = `${paint(style, kind.padEnd(7))} ${paint('bold', seenText(nameOf(finding)))}`;
  const about =
    kind === 'changed'
      ? finding.changes.map(({ path }) => path).join(', ')
      : 'reason' in finding
        ? finding.reason
        : '';
  if (!isWhole || (kind !== 'new' && kind !== 'changed')) {
    yield `${head}  ${plainLine(about)}`.trimEnd();
    return;
  }
  yield head;
  // Points out what is easily overlooked: hidden characters, and instructions to models.
  for (const { rule, message } of poisonedTexts({ ...finding.definition }))
    yield `  ${paint('red', rule)} ${plainLine(message)}`;
  const parts = kind === 'new' ? [{ path: '', ...finding.definition }] : finding.changes;
  for (const { path, ...sides } of parts) {
    if (path !== '') yield `  ${paint('cyan', seenText(path))}`;
    for (const line of shownArguments(sides, Math.min(columns, MAX_COLUMNS) - 4))
      yield `    ${line}`;
  }
}

/** The exit code for findings takes precedence over the exit code for a server that is down. */
function exitCodeOf(findings: readonly PinFinding[]): number {
  if (findings.some(({ kind }) => kind !== 'unreachable')) return EXIT.findings;
  return findings.length > 0 ? EXIT_UNREACHABLE : EXIT.ok;
}
