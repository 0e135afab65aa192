import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { doingOf } from '../../audit/effect.js';
import { auditMcpServer } from '../../audit/judge/audit-mcp-server.js';
import { auditTools, wayOf, type AuditReport } from '../../audit/judge/audit-tools.js';
import {
  applyBaseline,
  liesIn,
  newLies,
  readBaseline,
  writeBaseline,
} from '../../audit/judge/baseline.js';
import { correctionOf, correctionText } from '../../audit/judge/corrections.js';
import type { ToolAudit, Verdict } from '../../audit/judge/judge-tool.js';
import { ToolError } from '../../core/errors.js';
import { command, print, type Context } from '../command/command.js';
import { loadRegistry, reportProblems } from '../load/load-registry.js';
import { parseJsonc, readJsonFile } from '../load/read-json.js';
import { replaceFile } from '../load/replace-file.js';
import {
  flag,
  FORMAT_OPTIONS,
  formatOf,
  given,
  repeated,
  text,
  TOOL_OPTIONS,
  type Options,
  type Values,
} from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, table, wrapWords } from '../terminal/table.js';
import {
  annotation,
  paint,
  placeText,
  plainLine,
  plainText,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

const { trustAutoApprove: _trust, ...PLACES } = TOOL_OPTIONS;
const needsRun = { needs: ['run'] };
const OPTIONS = {
  ...PLACES,
  mcp: text(
    '<server>',
    'audit an MCP server: a package, a command, or a settings file with :name',
    {
      excludes: ['tools', 'manifests'],
    },
  ),
  ...FORMAT_OPTIONS,
  listing: text('<file>', "the server's answer to tools/list, instead of starting it", {
    needs: ['mcp'],
  }),
  install: flag("install the server's package into a folder of its own", { needs: ['mcp'] }),
  tool: repeated('<name>', 'only this tool; repeat for more'),
  baseline: text('<file>', 'the known lies, which do not count'),
  updateBaseline: flag('write the lies that are found now into the file', { needs: ['baseline'] }),
  fix: flag('print the metadata that would be true'),
  run: flag('also call the tools that need no approval, in scratch copies of the folder', {
    needs: ['tools', 'mcp'],
  }),
  generate: flag('call tools without examples with a minimal input', needsRun),
  allowUnsafe: flag('also call tools that need approval', needsRun),
  verbose: flag('show every tool, with all its effects and how the code gets there'),
} satisfies Options;
type AuditContext = Context<Values<typeof OPTIONS>>;

const NOTES = `
A tool lies if it does more than it declares. tooldex reads its code, and only runs it with --run. --mcp starts the server to ask
for its tools, without the environment variables of this process; with --listing it doesn't.

--run calls each tool in a scratch copy of the folder, with the examples of its input schema: twice, and twice at the same time.
Network requests get a stand-in, programs are recorded instead of started, and nothing outside the copy is written.

Exit codes:
  0    no tool lies, or the baseline has the lies
  1    a tool lies, or a file of tools didn't load
  2    wrong usage, or a server whose code or tools can't be read`;

export const audit = command({
  options: OPTIONS,
  notes: NOTES,
  examples: [
    'audit --tools ./tools',
    'audit --mcp .mcp.json:files',
    'audit --mcp "npx -y @modelcontextprotocol/server-memory" --verbose',
    'audit --tools ./tools --baseline audit.json --format github',
  ],
  run: async (context) => {
    const { terminal, cwd, options } = context;
    const { baseline, updateBaseline, mcp, tool: names } = options;
    const format = formatOf(options);
    const file = baseline === undefined ? undefined : resolve(cwd, baseline);
    // Read even if it's replaced: a file that was named by mistake stays as it is.
    const known =
      file === undefined || (updateBaseline && !existsSync(file))
        ? []
        : readBaseline(await readJsonFile(baseline!, terminal, cwd));
    const { report, isWhole = true } =
      mcp === undefined ? await auditOwn(context) : { report: await auditServer(context, mcp) };
    const written = updateBaseline ? writeBaseline(report.tools) : undefined;
    if (file !== undefined && written !== undefined) {
      await (existsSync(file) ? replaceFile(file, written) : writeFile(file, written));
      terminal.err(`${paint(terminal, 'green', 'written')} ${plainLine(baseline!)}`);
    }
    const counted = written === undefined ? known : readBaseline(JSON.parse(written));
    const { tools, gone } = applyBaseline(chosenOf(report.tools, names), counted);
    for (const { tool, axis, call } of names === undefined ? gone : [])
      terminal.err(
        `${paint(terminal, 'yellow', 'no longer found')} ${plainLine(`${tool} ${axis} ${call}`)}: remove it from the baseline with --update-baseline`,
      );
    if (format === 'github') {
      const from = mcp === undefined ? process.cwd() : cwd;
      const folder = relative(cwd, resolve(from, report.subject.folder));
      for (const line of tools.flatMap((each) => annotationsOf(each, folder))) terminal.out(line);
    } else {
      const withFix = (each: ToolAudit) =>
        options.fix ? { ...each, fix: correctionOf(each)?.after } : each;
      const data = { ...report, tools: tools.map(withFix) };
      print({ terminal, options: { json: format === 'json' } }, data, () =>
        reportLines(terminal, { ...report, tools }, options),
      );
    }
    return newLies(tools).length === 0 && isWhole ? EXIT.ok : EXIT.findings;
  },
});

const progressOf =
  ({ terminal }: AuditContext) =>
  (doing: string) =>
    terminal.err(paint(terminal, 'dim', plainLine(doing)));

const runChoiceOf = ({ options: { run, generate, allowUnsafe: unsafe } }: AuditContext) =>
  run ? { generate, unsafe } : undefined;

/** Audits tools of code. `isWhole` is false if a file didn't load. */
async function auditOwn(context: AuditContext) {
  const { terminal, cwd, options } = context;
  const { tools: patterns, manifests } = options;
  const { registry, problems, fileOf } = await loadRegistry(context);
  reportProblems(terminal, problems);
  if (registry.size === 0)
    throw new ToolError(
      'NOT_A_TOOL',
      'There are no tools to audit. Name the files that export them with --tools, or a server with --mcp.',
    );
  const isBundled = (patterns ?? manifests) === undefined;
  const root = isBundled ? packageFolder() : cwd;
  const built = ['tools/index.ts', 'dist/tools.js'].find((each) => existsSync(join(root, each)));
  const run = runChoiceOf(context);
  const report = await auditTools(registry, {
    root,
    entries: isBundled ? [built!] : [...new Set(fileOf.values())],
    ...given({
      run: run && { ...run, files: patterns },
      onProgress: terminal.interactive ? progressOf(context) : undefined,
    }),
  });
  const unloaded = problems.map((each) => ({ name: placeText(each), reason: each.reason }));
  return {
    report: { ...report, skipped: [...unloaded, ...report.skipped] },
    isWhole: problems.length === 0,
  };
}

/** Returns the folder of this package, which has the bundled tools. */
function packageFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) folder = resolve(folder, '..');
  return folder;
}

/** A settings file, and the name of the server in it. */
const SETTINGS = /^(.+\.jsonc?)(?::([^/\\]*))?$/;

async function auditServer(context: AuditContext, server: string): Promise<AuditReport> {
  const { terminal, cwd, options } = context;
  const { listing, install } = options;
  const [, file, name] = SETTINGS.exec(server) ?? [];
  const settings =
    file !== undefined && existsSync(resolve(cwd, file))
      ? await readJsonFile(file, terminal, cwd, parseJsonc)
      : undefined;
  return auditMcpServer(settings ?? server, {
    cwd,
    install,
    onProgress: progressOf(context),
    ...given({
      run: runChoiceOf(context),
      name: settings === undefined ? undefined : name,
      listing: listing === undefined ? undefined : await readJsonFile(listing, terminal, cwd),
    }),
  });
}

function chosenOf(
  tools: readonly ToolAudit[],
  names: readonly string[] | undefined,
): readonly ToolAudit[] {
  const unknown = names?.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown === undefined)
    return names === undefined ? tools : tools.filter(({ name }) => names.includes(name));
  const first = tools.slice(0, 10).map(({ name }) => name);
  throw wrongUsage(
    `--tool names no audited tool: ${JSON.stringify(unknown)}. The tools are ${first.join(', ')}${tools.length > 10 ? ', …' : ''}.`,
  );
}

const STYLES: Readonly<Record<Verdict, Style>> = {
  lies: 'red',
  unknown: 'yellow',
  undeclared: 'yellow',
  'over-cautious': 'cyan',
  agrees: 'green',
};
const VERDICTS = Object.keys(STYLES) as readonly Verdict[];

function* reportLines(
  terminal: Terminal,
  { tools, shared, skipped, subject, ran }: AuditReport,
  { fix, tool: named, verbose }: Values<typeof OPTIONS>,
): Generator<string> {
  const all = verbose || named !== undefined;
  const rows = VERDICTS.flatMap((verdict) =>
    tools.filter((tool) => tool.verdict === verdict),
  ).filter(({ verdict }) => all || verdict !== 'agrees');
  const indented = (words: string, margin: number, style?: Style) =>
    wrapWords(plainLine(words), Math.min(terminal.columns, 110) - margin).map(
      (line) => ' '.repeat(margin) + (style === undefined ? line : paint(terminal, style, line)),
    );
  if (rows.length > 0) {
    yield table(
      terminal,
      rows.map((tool) => ({
        VERDICT: [tool.verdict, STYLES[tool.verdict]],
        TOOL: [tool.name, 'bold'],
        SAYS: saysOf(tool),
        DOES: doesOf(tool),
      })),
    );
    yield '';
  }
  const explained = rows.filter(({ findings }) => all || liesIn(findings).length > 0);
  for (const { name, findings, found, unknowns } of explained) {
    const shown = all ? findings : liesIn(findings);
    yield paint(terminal, 'bold', plainLine(name));
    for (const finding of shown) {
      const { kind, known = false, message, effect } = finding;
      const style = kind === 'lies' && !known ? 'red' : undefined;
      yield* indented(`${known ? 'known: ' : ''}${message}`, 2, style);
      if (effect !== undefined) yield* indented(wayOf(finding), 4, 'dim');
    }
    const others = found.effects.filter((effect) => shown.every((each) => each.effect !== effect));
    for (const effect of all ? others : []) {
      yield* indented(doingOf(effect), 2);
      yield* indented(wayOf({ axis: '', kind: 'note', message: '', effect }), 4, 'dim');
    }
    for (const reason of all ? unknowns : [])
      yield* indented(`not followed: ${reason}`, 2, 'yellow');
  }
  if (explained.length > 0) yield '';
  for (const effect of shared)
    yield* indented(`in all tools, so counted for none: ${doingOf(effect)} ${effect.at}`, 0, 'dim');
  for (const reason of new Set(skipped.map((each) => each.reason))) {
    const names = skipped.filter((each) => each.reason === reason).map(({ name }) => name);
    yield* indented(`skipped ${names.join(', ')}: ${reason}`, 0, 'yellow');
  }
  if (ran !== undefined) yield* runLines(terminal, ran, all, indented);
  for (const tool of fix ? tools : []) yield* fixLines(terminal, tool);
  yield summaryOf(terminal, tools, subject);
}

/** Returns what the tools did when they ran, and what confined them. */
function* runLines(
  terminal: Terminal,
  { tools, skipped, held }: NonNullable<AuditReport['ran']>,
  all: boolean,
  indented: (words: string, margin: number, style?: Style) => readonly string[],
): Generator<string> {
  yield paint(
    terminal,
    'bold',
    `run: ${amountOf(tools.length, 'tool')}, confined by ${held.by.join(' and ')}; programs were recorded, not started`,
  );
  for (const { name, status, message, ms, files, programs, hosts, env, secondChanged } of tools) {
    const seen = [
      ...files.map(
        ({ path, change, where }) => `${change} ${path}${where === 'outside' ? ' (outside)' : ''}`,
      ),
      ...programs.map((program) => `ran ${program}`),
      ...hosts.map(({ host, methods }) => `asked ${[host, ...methods].join(' ')}`),
      ...(env.length === 0 ? [] : [`read the environment: ${env.join(', ')}`]),
      ...(secondChanged === true ? ['the same call changed more the second time'] : []),
    ];
    if (seen.length === 0 && status === 'ok' && !all) continue;
    const why = message === undefined ? '' : ` (${message})`;
    yield* indented(
      `${name}: ${status}${why}, ${ms} ms`,
      2,
      status === 'ok' ? undefined : 'yellow',
    );
    for (const each of seen) yield* indented(each, 4, 'dim');
  }
  for (const { name, reason } of skipped)
    yield* indented(`not run: ${name}: ${reason}`, 2, 'yellow');
  for (const gap of held.gaps) yield* indented(`not confined: ${gap}`, 2, 'dim');
}

/** The colours of a diff, by the first character of a line. */
const DIFF_STYLES: Readonly<Record<string, Style>> = { '+': 'green', '-': 'red', '@': 'cyan' };

function* fixLines(terminal: Terminal, tool: ToolAudit): Generator<string> {
  const correction = correctionOf(tool);
  if (correction === undefined) return;
  for (const line of correctionText(correction, tool.handler).split('\n'))
    yield paint(terminal, DIFF_STYLES[line[0]!] ?? 'dim', plainText(line));
  yield '';
}

function summaryOf(
  terminal: Terminal,
  tools: readonly ToolAudit[],
  { name, version = '' }: AuditReport['subject'],
): string {
  const count = (wanted: Verdict) => tools.filter(({ verdict }) => verdict === wanted).length;
  const known = count('lies') - newLies(tools).length;
  const mark =
    newLies(tools).length > 0
      ? paint(terminal, 'red', '✗')
      : count('unknown') + count('undeclared') > 0
        ? paint(terminal, 'yellow', '?')
        : paint(terminal, 'green', '✓');
  const verdicts = VERDICTS.filter((verdict) => count(verdict) > 0).map((verdict) =>
    count(verdict) > 1
      ? `${count(verdict)} ${verdict.replace(/^(lie|agree)s$/, '$1')}`
      : `1 ${verdict}`,
  );
  return `${mark} ${plainLine(`${name} ${version}`)}: ${amountOf(tools.length, 'tool')}, ${verdicts.join(', ')}${known > 0 ? ` (${known} known)` : ''}`;
}

function saysOf({ declared: { axes, destructive, readOnly } }: ToolAudit): string {
  if (readOnly == null) return 'nothing';
  if (readOnly) return 'reads';
  if (axes?.accessMode !== undefined) return axes.accessMode;
  return destructive == null ? 'writes' : destructive ? 'destroys' : 'adds';
}

/** Returns what a tool does in few words: the effect that decides, or what isn't known. */
function doesOf({ findings, found, handler, unknowns, verdict }: ToolAudit): string {
  const deciding = findings.filter(({ effect }) => effect !== undefined);
  const { effect } = deciding.find(({ kind }) => kind === 'lies') ?? deciding[0] ?? {};
  if (effect !== undefined) return doingOf(effect);
  if (handler === undefined) return 'its code is not found';
  const change = found.effects.find(({ access }) => access !== 'read');
  if (change !== undefined) return doingOf(change);
  if (verdict === 'unknown' || found.readOnly === null)
    return unknowns[0] === undefined ? 'its code does not show it' : `not followed: ${unknowns[0]}`;
  return found.effects.length === 0 ? 'computes' : 'reads';
}

/** Returns annotations next to the code that decides: lies are errors, the rest are warnings. */
function annotationsOf({ name, findings, handler }: ToolAudit, folder: string): readonly string[] {
  return findings
    .filter(({ kind, known }) => kind !== 'note' && known !== true)
    .map((finding) => {
      const { kind, message, effect } = finding;
      const [, file, line] = /^(.*?):(\d+)/.exec(effect?.at ?? handler ?? '') ?? [];
      const way = effect === undefined ? '' : `\n${plainLine(wayOf(finding))}`;
      const place =
        file === undefined ? {} : { file: plainLine(join(folder, file)), line: Number(line) };
      const words = plainLine(`${name} ${message}`) + way;
      return annotation(kind === 'lies' ? 'error' : 'warning', 'audit', words, place);
    });
}
