import { existsSync } from 'node:fs';
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
  given,
  text,
  TOOL_OPTIONS,
  type Options,
  type Values,
} from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, countsOf, table } from '../terminal/table.js';
import {
  annotation,
  paint,
  placeText,
  plainLine,
  plainText,
  report,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';

const needsRun = { needs: ['run'] };
const needsServer = { needs: ['mcp'] };
const OPTIONS = {
  ...TOOL_OPTIONS,
  mcp: text(
    '<server>',
    'audit an MCP server: a package, a command, or a settings file with :name',
    { excludes: ['tools', 'manifests'] },
  ),
  ...FORMAT_OPTIONS,
  listing: text('<file>', 'a saved answer to tools/list; starts no server', needsServer),
  install: flag("install the server's package in a separate folder", needsServer),
  baseline: text('<file>', "the file with the known lies, which aren't counted"),
  updateBaseline: flag('write the lies found now to the file', { needs: ['baseline'] }),
  fix: flag('print metadata that matches the code'),
  run: flag('also call the tools that need no approval, in scratch copies of the folder', {
    needs: ['tools', 'mcp'],
  }),
  generate: flag('call tools that have no examples with a minimal input', needsRun),
  allowUnsafe: flag('also call tools that need approval', needsRun),
} satisfies Options;
type AuditContext = Context<Values<typeof OPTIONS>>;

const NOTES = `
A tool lies if it does more than it declares. tooldex reads the tool's code, and only runs it with --run. --mcp starts the server
to list its tools, without this process's environment variables; with --listing the server isn't started.

--run calls each tool twice in a row in a scratch copy of the folder, with the examples in its input schema.
Network requests get a stub response, programs are recorded instead of started, and nothing outside the copy is written.

Exit codes:
  0    no tool lies, or all lies are in the baseline
  1    a tool lies, or a file of tools didn't load
  2    wrong usage, or a server whose code or tools can't be read`;

export const commands = {
  audit: command({
    options: OPTIONS,
    notes: NOTES,
    examples: [
      'audit --tools ./tools',
      'audit --mcp .mcp.json:files',
      'audit --mcp "npx -y @modelcontextprotocol/server-memory"',
      'audit --tools ./tools --baseline audit.json --format github',
    ],
    run: async (context) => {
      const { terminal, cwd, options } = context;
      const { baseline, updateBaseline, mcp, fix } = options;
      const file = resolve(cwd, baseline ?? '');
      // Reads the baseline even if it will be overwritten, so that a file passed by mistake is
      // refused instead of overwritten.
      let known =
        baseline === undefined || (updateBaseline && !existsSync(file))
          ? []
          : readBaseline(await readJsonFile(baseline, terminal, cwd));
      const { audited, isWhole = true } =
        mcp === undefined ? await auditOwn(context) : { audited: await auditServer(context, mcp) };
      if (updateBaseline) {
        const written = writeBaseline(audited.tools);
        await replaceFile(file, written);
        report(terminal, 'green', 'written', baseline!);
        known = readBaseline(JSON.parse(written));
      }
      const { tools, gone } = applyBaseline(audited.tools, known);
      for (const { tool, axis, call } of gone) {
        const lie = `${tool} ${axis} ${call}: remove it from the baseline with --update-baseline`;
        report(terminal, 'yellow', 'no longer found', lie);
      }
      const withFix = (each: ToolAudit) =>
        fix ? { ...each, fix: correctionOf(each)?.after } : each;
      const from = mcp === undefined ? process.cwd() : cwd;
      const folder = relative(cwd, resolve(from, audited.subject.folder));
      print(
        context,
        { ...audited, tools: tools.map(withFix) },
        () => reportLines(terminal, { ...audited, tools }, fix),
        () => tools.flatMap((each) => annotationsOf(each, folder)),
      );
      return newLies(tools).length === 0 && isWhole ? EXIT.ok : EXIT.findings;
    },
  }),
};

/** Returns the options that all audits share. */
const howOf = ({ terminal, options: { run, generate, allowUnsafe: unsafe } }: AuditContext) => ({
  onProgress: (doing: string) =>
    terminal.interactive && terminal.err(paint('dim', plainLine(doing))),
  ...(run && { run: { generate, unsafe } }),
});

/** Audits tools in the user's code. `isWhole` is false if a file didn't load. */
async function auditOwn(context: AuditContext) {
  const { terminal, cwd, options } = context;
  const { tools: files } = options;
  const { registry, problems, fileOf } = await loadRegistry(context);
  reportProblems(terminal, problems);
  if (fileOf.size === 0)
    throw new ToolError(
      'NOT_A_TOOL',
      'There are no tools to audit. Pass the files that export them with --tools, or a server with --mcp.',
    );
  const { run, ...how } = howOf(context);
  const audited = await auditTools(registry, {
    ...how,
    root: cwd,
    entries: [...new Set(fileOf.values())],
    ...given({ run: run && given({ ...run, files }) }),
  });
  const unloaded = problems.map((each) => ({ name: placeText(each), reason: each.reason }));
  return {
    audited: { ...audited, skipped: [...unloaded, ...audited.skipped] },
    isWhole: problems.length === 0,
  };
}

/** A settings file, and the name of a server in it. */
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
    ...howOf(context),
    ...given({
      name: settings === undefined ? undefined : name,
      listing: listing === undefined ? undefined : await readJsonFile(listing, terminal, cwd),
    }),
  });
}

const STYLES: Readonly<Record<Verdict, Style>> = {
  lies: 'red',
  unknown: 'yellow',
  undeclared: 'yellow',
  'over-cautious': 'cyan',
  agrees: 'green',
};

/**
 * Returns a row for each tool whose verdict isn't "agrees", with the path to each call that
 * contradicts its declaration.
 */
function* reportLines(
  terminal: Terminal,
  { tools, shared, skipped, subject, ran }: AuditReport,
  fix: boolean,
): Generator<string> {
  const verdicts = Object.keys(STYLES);
  const sorted = verdicts.flatMap((verdict) => tools.filter((tool) => tool.verdict === verdict));
  const rows = sorted.filter(({ verdict }) => verdict !== 'agrees');
  yield `${table(
    terminal,
    rows.map((tool) => ({
      VERDICT: [tool.verdict, STYLES[tool.verdict]],
      TOOL: tool.name,
      SAYS: saysOf(tool),
      DOES: doesOf(tool),
    })),
  )}\n`;
  for (const { name, findings } of rows) {
    const lies = liesIn(findings);
    if (lies.length > 0) yield paint('bold', plainLine(name));
    for (const lie of lies) {
      yield `  ${plainLine(`${lie.known ? 'known: ' : ''}${lie.message}`)}`;
      if (lie.effect !== undefined) yield paint('dim', `    ${plainLine(wayOf(lie))}`);
    }
  }
  for (const effect of shared)
    yield plainLine(`found in all tools, so not counted for any:${doingOf(effect)} ${effect.at}`);
  for (const { name, reason } of skipped) yield `skipped ${plainLine(`${name}: ${reason}`)}`;
  if (ran !== undefined) yield* runLines(terminal, ran);
  for (const tool of fix ? tools : []) {
    const correction = correctionOf(tool);
    if (correction !== undefined) yield plainText(correctionText(correction, tool.handler));
  }
  const mark = newLies(tools).length > 0 ? paint('red', '✗') : paint('green', '✓');
  const counts = countsOf(sorted.map(({ verdict }) => verdict)).join(', ');
  const title = plainLine(`${subject.name} ${subject.version ?? ''}`);
  yield `${mark} ${title}: ${amountOf(tools.length, 'tool')}, ${counts}`;
}

/** Returns what the tools did when they ran, and how they were confined. */
function* runLines(
  terminal: Terminal,
  { tools, skipped, held }: NonNullable<AuditReport['ran']>,
): Generator<string> {
  yield `\nrun: ${amountOf(tools.length, 'tool')}, confined by ${held.by.join(' and ')}; programs were recorded, not started`;
  yield table(
    terminal,
    tools.map(({ name, status, message, files, programs, hosts, env }) => ({
      TOOL: name,
      ENDED: message === undefined ? status : `${status}: ${message}`,
      DID: [
        ...files.map(
          ({ path, change, where }) =>
            `${change} ${path}${where === 'outside' ? ' (outside)' : ''}`,
        ),
        ...programs.map((program) => `ran ${program}`),
        ...hosts.map(({ host, methods }) => `requested ${[host, ...methods].join(' ')}`),
        ...env.map((variable) => `read the environment variable ${variable}`),
      ].join(', '),
    })),
  );
  for (const { name, reason } of skipped) yield `not run: ${plainLine(`${name}: ${reason}`)}`;
  for (const gap of held.gaps) yield `not confined: ${plainLine(gap)}`;
}

function saysOf({ declared: { axes, destructive, readOnly } }: ToolAudit): string {
  if (readOnly == null) return 'nothing';
  if (readOnly) return 'reads';
  return axes?.accessMode ?? (destructive === false ? 'adds' : 'writes');
}

/**
 * Describes a tool's behavior briefly: the effect that decides the verdict, or the part that is
 * unknown.
 */
function doesOf({ findings, found, handler, unknowns, verdict }: ToolAudit): string {
  const deciding = findings.filter(({ effect }) => effect !== undefined);
  const { effect } = deciding.find(({ kind }) => kind === 'lies') ?? deciding[0] ?? {};
  if (effect !== undefined) return doingOf(effect);
  if (handler === undefined) return 'its code was not found';
  const change = found.effects.find(({ access }) => access !== 'read');
  if (change !== undefined) return doingOf(change);
  if (verdict === 'unknown' || found.readOnly === null)
    return unknowns[0] === undefined ? 'its code does not show it' : `not followed: ${unknowns[0]}`;
  return found.effects.length === 0 ? 'computes' : 'reads';
}

/**
 * Returns annotations next to the code that decides the verdict: lies are errors, and all other
 * findings are warnings.
 */
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
