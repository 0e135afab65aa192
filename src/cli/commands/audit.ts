import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { auditMcpServer } from '../../audit/judge/audit-mcp-server.js';
import { auditTools, wayOf, type AuditReport } from '../../audit/judge/audit-tools.js';
import {
  applyBaseline,
  liesIn,
  newLies,
  readBaseline,
  writeBaseline,
  type KnownLie,
} from '../../audit/judge/baseline.js';
import { correctionOf, correctionText } from '../../audit/judge/corrections.js';
import type { ToolAudit, Verdict } from '../../audit/judge/judge-tool.js';
import { doingOf } from '../../audit/effect.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import {
  formatOf,
  formatted,
  repeated,
  type CommandFamily,
  type CommandHost,
  type CommandOptions,
} from '../load/options.js';
import { parseJsonc, readJsonFile } from '../load/read-json.js';
import { replaceFile } from '../load/replace-file.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, table, wrapWords } from '../terminal/table.js';
import {
  annotation,
  paint,
  placeText,
  plainJson,
  plainLine,
  plainText,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';
import { requireTogether, wrongUsage } from '../terminal/wrong-usage.js';

interface AuditCommandOptions extends CommandOptions {
  readonly listing?: string;
  readonly install?: boolean;
  readonly tool?: readonly string[];
  readonly baseline?: string;
  readonly updateBaseline?: boolean;
  readonly fix?: boolean;
  readonly verbose?: boolean;
  readonly run?: boolean;
  readonly generate?: boolean;
  readonly allowUnsafe?: boolean;
}

const AUDIT_EXIT_HELP = `
A tool lies when it does more than it says. Its code is read, and run only with --run; --mcp starts a server to ask for its
tools, without the variables of this process (--listing <file> starts none).

--run calls each tool in a scratch copy of the folder, on the examples of its input schema: twice, and twice at the same time. The
network is stood in for, programs are recorded and not started, and nothing outside of the copy is written.

Exit codes:
  0    no tool lies, or the baseline knows it
  1    a tool lies, or a file of tools did not load
  2    wrong usage, or a server whose code or tools cannot be read`;

/** Compares what tools say with what their code does. */
export const AUDIT_COMMANDS: CommandFamily = {
  audit: (command, host) =>
    host.alone(
      formatted(command, 'findings')
        .option(
          '--listing <file>',
          'with --mcp: what tools/list answers, instead of starting the server',
        )
        .option(
          '--install',
          'with --mcp: install a package that is not there, into a folder of its own',
        )
        .option('--tool <name>', 'only this tool; may be repeated', repeated)
        .option('--baseline <file>', 'the lies that are known, which do not count')
        .option('--update-baseline', 'with --baseline: write what is found now into it')
        .option('--fix', 'print the metadata that would be true')
        .option(
          '--run',
          'also call the tools that run without approval, in scratch copies of the folder',
        )
        .option('--generate', 'with --run: call tools without examples on a minimal input')
        .option('--allow-unsafe', 'with --run: call tools that need approval, too')
        .option('--verbose', 'every tool, with all effects and the way to each')
        .addHelpText('after', AUDIT_EXIT_HELP),
      [
        'audit --tools ./tools',
        'audit --mcp .mcp.json:files',
        'audit --mcp "npx -y @modelcontextprotocol/server-memory" --verbose',
        'audit --tools ./tools --baseline audit.json --format github',
      ],
      (options) => audit(host, options),
    ),
};

async function audit(host: CommandHost, options: AuditCommandOptions): Promise<number> {
  const { terminal, cwd } = host;
  const { baseline, updateBaseline = false, mcp, tools: patterns, manifests } = options;
  const format = formatOf(options);
  requireTogether(options, {
    baseline: ['update-baseline'],
    run: ['generate', 'allow-unsafe'],
    mcp: ['listing', 'install'],
  });
  if (mcp !== undefined && (patterns ?? manifests) !== undefined)
    throw wrongUsage('--mcp, or --tools or --manifests', 'both');
  if (options.run === true && (mcp ?? patterns) === undefined)
    throw wrongUsage(
      '--run together with --tools or --mcp',
      'neither',
      'Name the files that export the tools.',
    );
  const file = baseline === undefined ? undefined : resolve(cwd, baseline);
  // Also read before it is replaced: another file that is named by mistake stays as it is.
  const known =
    file === undefined || (updateBaseline && !existsSync(file))
      ? []
      : readBaseline(await readJsonFile(baseline!, terminal, cwd));
  const { report, isWhole = true }: Audited =
    mcp === undefined
      ? await auditOwn(host, options)
      : { report: await auditServer(host, options, mcp) };
  const chosen = chosenOf(report.tools, options.tool);
  const text = updateBaseline ? writeBaseline(report.tools) : undefined;
  if (file !== undefined && text !== undefined) {
    await (existsSync(file) ? replaceFile(file, text) : writeFile(file, text));
    terminal.err(`${paint(terminal, 'green', 'written')} ${plainLine(baseline!)}`);
  }
  const { tools, gone } = applyBaseline(
    chosen,
    text === undefined ? known : readBaseline(JSON.parse(text)),
  );
  const tellGone = ({ tool, axis, call }: KnownLie) =>
    terminal.err(
      `${paint(terminal, 'yellow', 'no longer found')} ${plainLine(`${tool} ${axis} ${call}`)}: take it out of the baseline with --update-baseline`,
    );
  if (options.tool === undefined) gone.forEach(tellGone);

  if (format === 'json') {
    const withFix = (tool: ToolAudit) =>
      options.fix === true ? { ...tool, fix: correctionOf(tool)?.after } : tool;
    terminal.out(plainJson({ ...report, tools: tools.map(withFix) }, 2));
  } else if (format === 'github') {
    const from = mcp === undefined ? process.cwd() : cwd;
    printAnnotations(terminal, tools, relative(cwd, resolve(from, report.subject.folder)));
  } else print(terminal, { ...report, tools }, options);
  return newLies(tools).length === 0 && isWhole ? EXIT.ok : EXIT.findings;
}

interface Audited {
  readonly report: AuditReport;
  /** False where a file of tools did not load. */
  readonly isWhole?: boolean;
}

const progressOf =
  ({ terminal }: CommandHost) =>
  (doing: string) =>
    terminal.err(paint(terminal, 'dim', plainLine(doing)));

const choiceOf = ({ run, generate, allowUnsafe: unsafe }: AuditCommandOptions) =>
  run === true ? { run: { generate, unsafe } } : {};

async function auditOwn(host: CommandHost, options: AuditCommandOptions): Promise<Audited> {
  const { terminal, cwd, importOptions } = host;
  const { tools: patterns, manifests, persona } = options;
  const { run } = choiceOf(options);
  const { loadRegistry } = await import('../load/load-registry.js');
  const { registry, problems, fileOf } = await loadRegistry(
    { patterns, manifests, persona },
    cwd,
    importOptions,
  );
  for (const problem of problems)
    terminal.err(
      `${paint(terminal, 'red', 'not loaded')} ${placeText(problem)}: ${plainLine(problem.reason)}`,
    );
  if (registry.size === 0)
    throw new ToolError(
      'NOT_A_TOOL',
      expectedGot(
        'tools to audit',
        'none',
        'Name the files that export them with --tools, or a server with --mcp.',
      ),
    );
  const isBundled = (patterns ?? manifests) === undefined;
  const root = isBundled ? packageFolder() : cwd;
  const built = ['tools/index.ts', 'dist/tools.js'].find((each) => existsSync(join(root, each)));
  const report = await auditTools(registry, {
    root,
    entries: isBundled ? [built!] : [...new Set(fileOf.values())],
    ...(run && { run: { ...run, files: patterns } }),
    ...(terminal.interactive && { onProgress: progressOf(host) }),
  });
  const skipped = problems.map((each) => ({ name: placeText(each), reason: each.reason }));
  return {
    report: { ...report, skipped: [...skipped, ...report.skipped] },
    isWhole: problems.length === 0,
  };
}

/** Returns the folder of this package, where the bundled tools are. */
function packageFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) folder = resolve(folder, '..');
  return folder;
}

/** A settings file, and the server of it that is meant. */
const SETTINGS = /^(.+\.jsonc?)(?::([^/\\]*))?$/;

async function auditServer(
  host: CommandHost,
  options: AuditCommandOptions,
  server: string,
): Promise<AuditReport> {
  const { terminal, cwd } = host;
  const { listing, install } = options;
  const [, file, name] = SETTINGS.exec(server) ?? [];
  const settings =
    file !== undefined && existsSync(resolve(cwd, file))
      ? await readJsonFile(file, terminal, cwd, parseJsonc)
      : undefined;
  return auditMcpServer(settings ?? server, {
    cwd,
    onProgress: progressOf(host),
    ...choiceOf(options),
    ...(settings !== undefined && name !== undefined && { name }),
    ...(install !== undefined && { install }),
    ...(listing !== undefined && { listing: await readJsonFile(listing, terminal, cwd) }),
  });
}

function chosenOf(
  tools: readonly ToolAudit[],
  names: readonly string[] | undefined,
): readonly ToolAudit[] {
  const unknown = names?.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined)
    throw invalidArgument(
      '--tool as the name of a tool that is audited',
      unknown,
      `The tools are ${tools
        .slice(0, 10)
        .map(({ name }) => name)
        .join(', ')}${tools.length > 10 ? ', …' : ''}.`,
    );
  return names === undefined ? tools : tools.filter(({ name }) => names.includes(name));
}

const STYLES: Readonly<Record<Verdict, Style>> = {
  lies: 'red',
  unknown: 'yellow',
  undeclared: 'yellow',
  'over-cautious': 'cyan',
  agrees: 'green',
};
const VERDICTS = Object.keys(STYLES) as readonly Verdict[];
/** Lies of one tool that are shown without --verbose. */
const SHOWN = 3;

function print(
  terminal: Terminal,
  { tools, shared, skipped, subject, ran }: AuditReport,
  { fix, tool: named, verbose = false }: AuditCommandOptions,
): void {
  const all = verbose || named !== undefined;
  const rows = VERDICTS.flatMap((verdict) =>
    tools.filter((tool) => tool.verdict === verdict),
  ).filter(({ verdict }) => all || verdict !== 'agrees');
  const indented = (text: string, margin: number, style?: Style) => {
    for (const line of wrapWords(plainLine(text), Math.min(terminal.columns, 110) - margin))
      terminal.out(
        ' '.repeat(margin) + (style === undefined ? line : paint(terminal, style, line)),
      );
  };
  if (rows.length > 0) {
    terminal.out(
      table(terminal, rows, [
        {
          title: 'VERDICT',
          value: ({ verdict }) => verdict,
          style: ({ verdict }) => STYLES[verdict],
        },
        { title: 'TOOL', value: ({ name }) => name, style: () => 'bold' },
        { title: 'SAYS', value: saysOf },
        { title: 'DOES', value: doesOf, narrow: 'wrap' },
      ]),
    );
    terminal.out('');
  }
  for (const { name, findings, found, unknowns } of rows) {
    const told = all ? findings : liesIn(findings);
    if (told.length === 0 && !all) continue;
    terminal.out(paint(terminal, 'bold', plainLine(name)));
    for (const finding of all ? told : told.slice(0, SHOWN)) {
      indented(
        `${finding.known === true ? 'known: ' : ''}${finding.message}`,
        2,
        finding.kind === 'lies' && finding.known !== true ? 'red' : undefined,
      );
      if (finding.effect !== undefined) indented(wayOf(finding), 4, 'dim');
    }
    if (told.length > SHOWN && !all)
      indented(`and ${told.length - SHOWN} more (--tool ${name} shows them)`, 2);
    if (!all) continue;
    for (const effect of found.effects.filter(
      (each) => !told.some((finding) => finding.effect === each),
    )) {
      indented(doingOf(effect), 2);
      indented(wayOf({ axis: '', kind: 'note', message: '', effect }), 4, 'dim');
    }
    for (const reason of unknowns) indented(`not followed: ${reason}`, 2, 'yellow');
  }
  if (rows.some(({ findings }) => all || liesIn(findings).length > 0)) terminal.out('');
  for (const effect of shared)
    indented(
      `shared by all tools, and counted for none: ${doingOf(effect)} ${effect.at}`,
      0,
      'dim',
    );
  for (const reason of new Set(skipped.map((each) => each.reason))) {
    const names = skipped.filter((each) => each.reason === reason).map(({ name }) => name);
    for (const name of names.slice(0, SHOWN)) indented(`skipped ${name}: ${reason}`, 0, 'yellow');
    if (names.length > SHOWN)
      indented(`skipped ${names.length - SHOWN} more: ${reason}`, 0, 'yellow');
  }
  if (ran !== undefined) printRuns(terminal, ran, all, indented);
  if (fix === true) for (const tool of tools) printFix(terminal, tool);
  printSummary(terminal, tools, subject);
}

/** Prints what was seen of the tools that were run, and what held them. */
function printRuns(
  terminal: Terminal,
  { tools, skipped, held }: NonNullable<AuditReport['ran']>,
  all: boolean,
  indented: (text: string, margin: number, style?: Style) => void,
): void {
  terminal.out(
    paint(
      terminal,
      'bold',
      `run: ${amountOf(tools.length, 'tool')}, held by ${held.by.join(' and ')}; programs were recorded and not started`,
    ),
  );
  for (const { name, status, message, ms, files, programs, hosts, env, secondChanged } of tools) {
    const seen = [
      ...files.map(
        ({ path, change, where }) => `${change} ${path}${where === 'outside' ? ' (outside)' : ''}`,
      ),
      ...programs.map((program) => `ran ${program}`),
      ...hosts.map(
        ({ host, methods }) =>
          `asked ${host}${methods.length === 0 ? '' : ` (${methods.join(', ')})`}`,
      ),
      ...(env.length === 0 ? [] : [`read the environment: ${env.join(', ')}`]),
      ...(secondChanged === true ? ['the same call again changed more'] : []),
    ];
    if (seen.length === 0 && status === 'ok' && !all) continue;
    indented(
      `${name}: ${status}${message === undefined ? '' : ` (${message})`}, ${ms} ms`,
      2,
      status === 'ok' ? undefined : 'yellow',
    );
    for (const each of seen) indented(each, 4, 'dim');
  }
  for (const { name, reason } of skipped) indented(`not run: ${name}: ${reason}`, 2, 'yellow');
  for (const gap of held.gaps) indented(`not held: ${gap}`, 2, 'dim');
}

/** The colours of a diff, by the first character of a line. */
const DIFF_STYLES: Readonly<Record<string, Style>> = { '+': 'green', '-': 'red', '@': 'cyan' };

function printFix(terminal: Terminal, tool: ToolAudit): void {
  const correction = correctionOf(tool);
  if (correction === undefined) return;
  for (const line of correctionText(correction, tool.handler).split('\n'))
    terminal.out(paint(terminal, DIFF_STYLES[line[0]!] ?? 'dim', plainText(line)));
  terminal.out('');
}

function printSummary(
  terminal: Terminal,
  tools: readonly ToolAudit[],
  { name, version }: AuditReport['subject'],
): void {
  const count = (wanted: Verdict) => tools.filter(({ verdict }) => verdict === wanted).length;
  const known = count('lies') - newLies(tools).length;
  const [style, mark] =
    newLies(tools).length > 0
      ? (['red', '✗'] as const)
      : count('unknown') + count('undeclared') > 0
        ? (['yellow', '?'] as const)
        : (['green', '✓'] as const);
  const words = VERDICTS.filter((verdict) => count(verdict) > 0).map((verdict) => {
    const plural = count(verdict) > 1 ? { lies: 'lie', agrees: 'agree' } : {};
    return `${count(verdict)} ${(plural as Partial<Record<Verdict, string>>)[verdict] ?? verdict}`;
  });
  terminal.out(
    `${paint(terminal, style, mark)} ${plainLine(name)}${version === undefined ? '' : ` ${plainLine(version)}`}: ${amountOf(tools.length, 'tool')}, ${words.join(', ')}${known > 0 ? ` (${known} known)` : ''}`,
  );
}

function saysOf({ declared: { axes, destructive, readOnly } }: ToolAudit): string {
  if (readOnly == null) return 'nothing';
  if (readOnly) return 'reads';
  if (axes?.accessMode !== undefined) return axes.accessMode;
  return destructive == null ? 'writes' : destructive ? 'destroys' : 'adds';
}

/** Returns what was found of a tool in few words: the effect that decides, or what is not known. */
function doesOf({ findings, found, handler, unknowns, verdict }: ToolAudit): string {
  const deciding =
    findings.find(({ effect, kind }) => effect !== undefined && kind === 'lies') ??
    findings.find(({ effect }) => effect !== undefined);
  if (deciding?.effect !== undefined) return doingOf(deciding.effect);
  if (handler === undefined) return 'its code is not found';
  const [effect] = [...found.effects].filter(({ access }) => access !== 'read');
  if (effect !== undefined) return doingOf(effect);
  if (verdict === 'unknown' || found.readOnly === null)
    return unknowns[0] === undefined ? 'its code does not show it' : `not followed: ${unknowns[0]}`;
  return found.effects.length === 0 ? 'computes' : 'reads';
}

/** Prints annotations beside the code that decides: of lies errors, of the rest warnings. */
function printAnnotations(terminal: Terminal, tools: readonly ToolAudit[], folder: string): void {
  for (const { name, findings, handler } of tools) {
    for (const finding of findings.filter(({ kind, known }) => kind !== 'note' && known !== true)) {
      const [, file, line] = /^(.*?):(\d+)/.exec(finding.effect?.at ?? handler ?? '') ?? [];
      const way = finding.effect === undefined ? '' : `\n${plainLine(wayOf(finding))}`;
      terminal.out(
        annotation(
          finding.kind === 'lies' ? 'error' : 'warning',
          'audit',
          `${plainLine(`${name} ${finding.message}`)}${way}`,
          file === undefined
            ? {}
            : { file: plainLine(join(folder, file)), line: Number(line), column: null },
        ),
      );
    }
  }
}
