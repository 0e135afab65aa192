import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { doingOf, wayOf } from '../../audit/effect.js';
import { auditFolder, type AuditReport } from '../../audit/judge/audit-tools.js';
import {
  applyBaseline,
  liesIn,
  newLies,
  readBaseline,
  writeBaseline,
} from '../../audit/judge/baseline.js';
import type { ToolAudit, Judgement } from '../../audit/judge/judge-tool.js';
import type { AuditKnowledge } from '../../audit/known/known-calls.js';
import { ToolError } from '../../core/errors.js';
import { filesOf } from '../../load/load-tools.js';
import { command, print, type Context } from '../command/command.js';
import {
  flag,
  FORMAT_OPTIONS,
  repeated,
  textOption,
  type Options,
  type OptionValues,
} from '../command/options.js';
import { settingsFor } from '../load/settings.js';
import { readJsonFile } from '../load/read-json.js';
import { replaceFile } from '../load/replace-file.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, countsOf, table, type Row } from '../terminal/table.js';
import {
  annotation,
  paint,
  plainLine,
  report,
  type Style,
  type Terminal,
} from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

const OPTIONS = {
  tools: repeated(
    '<path>',
    'audit the tools in a file, a folder or a quoted glob, and in what those files import; can be repeated (default: all code of the tsconfig, without tests)',
  ),
  ...FORMAT_OPTIONS,
  known: repeated(
    '<call=effect>',
    'what a call does that the audit does not know: read, write or none; can be repeated',
  ),
  baseline: textOption('<file>', "the file with the known lies, which aren't counted"),
  updateBaseline: flag('write the lies found now to the file', { needs: ['baseline'] }),
} satisfies Options;
type AuditContext = Context<OptionValues<typeof OPTIONS>>;

const NOTES = `
A tool lies if it does more than it declares. tooldex reads the tools' code with the TypeScript checker, and neither loads nor runs it.
A tool agrees if every call on every path is known. All other tools are unknown, with the calls that stand in the way.

Exit codes:
  0    no tool lies, or all lies are in the baseline
  1    a tool lies
  2    wrong usage, or code without tools`;

export const commands = {
  audit: command({
    options: OPTIONS,
    notes: NOTES,
    examples: [
      'audit',
      'audit --tools "src/tools/**/*.ts"',
      'audit --known ledger-client.sync=write',
      'audit --baseline audit.json --format github',
    ],
    run: async (context) => {
      const { terminal, cwd } = context;
      const accepted = await knownLies(context);
      const audited = await auditCode(context);
      const baseline = (await updatedBaseline(context, audited)) ?? accepted;
      const { tools, gone } = applyBaseline(audited.tools, baseline);
      for (const { tool, axis, call } of gone) {
        const lie = `${tool} ${axis} ${call}: remove it from the baseline with --update-baseline`;
        report(terminal, 'yellow', 'no longer found', lie);
      }
      const folder = relative(cwd, resolve(process.cwd(), audited.subject.folder));
      print(
        context,
        { ...audited, tools },
        () => reportLines(terminal, { ...audited, tools }),
        () => tools.flatMap((each) => annotationsOf(each, folder)),
      );
      return newLies(tools).length === 0 ? EXIT.ok : EXIT.findings;
    },
  }),
};

/**
 * Returns the lies in the baseline. Reads the file even if it will be overwritten, so that a file
 * passed by mistake is refused.
 */
async function knownLies({ terminal, cwd, options: { baseline, updateBaseline } }: AuditContext) {
  if (baseline === undefined || (updateBaseline && !existsSync(resolve(cwd, baseline)))) return [];
  return readBaseline(await readJsonFile(baseline, terminal, cwd));
}

async function updatedBaseline({ terminal, cwd, options }: AuditContext, { tools }: AuditReport) {
  const { baseline, updateBaseline } = options;
  if (!updateBaseline || baseline === undefined) return undefined;
  const written = writeBaseline(tools);
  await replaceFile(resolve(cwd, baseline), written);
  report(terminal, 'green', 'written', baseline);
  return readBaseline(JSON.parse(written));
}

async function auditCode({ cwd, options }: AuditContext): Promise<AuditReport> {
  const { audit: settings } = await settingsFor(cwd);
  const patterns = options.tools ?? settings.tools ?? [];
  const calls = { ...settings.known?.calls, ...knownCalls(options.known ?? []) };
  const audited = await auditFolder({
    root: cwd,
    entries: await allFiles(patterns, cwd),
    known: { ...settings.known, calls },
  });
  if (audited.tools.length > 0 || audited.skipped.length > 0) return audited;
  throw new ToolError(
    'NOT_A_TOOL',
    'No code here declares tools with defineTool, @tool or @toolkit. Pass the files that do with --tools.',
  );
}

/** Returns the files that paths, folders and globs stand for. */
async function allFiles(patterns: readonly string[], cwd: string): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const pattern of patterns) {
    const files = await filesOf(pattern, cwd);
    if (files.length === 0)
      throw wrongUsage(
        `No file matches ${JSON.stringify(pattern)}. Pass a file, a folder or a glob.`,
      );
    for (const file of files) found.add(file);
  }
  return [...found].sort();
}

function knownCalls(pairs: readonly string[]): NonNullable<AuditKnowledge['calls']> {
  const calls: Record<string, 'read' | 'write' | 'none'> = {};
  for (const pair of pairs) {
    const [, call, effect] = /^(.+)=(read|write|none)$/.exec(pair) ?? [];
    if (call === undefined)
      throw wrongUsage(
        `Expected --known to be call=read, call=write or call=none, got ${JSON.stringify(pair)}.`,
      );
    calls[call] = effect as 'read' | 'write' | 'none';
  }
  return calls;
}

const STYLES: Readonly<Record<Judgement, Style>> = {
  lies: 'red',
  unknown: 'yellow',
  agrees: 'green',
};

/** Returns a row for each tool, the path to each call that proves a lie, and the calls that block tools. */
function* reportLines(
  terminal: Terminal,
  { tools, blocking, skipped, subject }: AuditReport,
): Generator<string> {
  const sorted: ToolAudit[] = [];
  for (const verdict of Object.keys(STYLES))
    sorted.push(...tools.filter((tool) => tool.verdict === verdict));
  yield `${table(terminal, sorted.map(auditRow))}\n`;
  for (const tool of sorted) yield* lieLines(tool);
  for (const { call, tools: count } of blocking.slice(0, MOST_BLOCKING))
    yield plainLine(
      `${call} blocks ${amountOf(count, 'tool')}. If you know what it does, add it to known.`,
    );
  for (const { name, reason } of skipped) yield `skipped ${plainLine(`${name}: ${reason}`)}`;
  const mark = newLies(tools).length > 0 ? paint('red', '✗') : paint('green', '✓');
  const counts = countsOf(sorted.map(({ verdict }) => verdict)).join(', ');
  yield `${mark} ${plainLine(subject.name)}: ${amountOf(tools.length, 'tool')}, ${counts}`;
}
const MOST_BLOCKING = 10;

function auditRow(tool: ToolAudit): Row {
  const { verdict, name, declared } = tool;
  const declares = declared.accessMode ?? (declared.sideEffects ?? []).join(', ');
  return {
    VERDICT: [verdict, STYLES[verdict]],
    TOOL: name,
    DECLARES: declares,
    DOES: doesOf(tool),
  };
}

/** Returns the lies of a tool, with the path to the call that proves each. */
function* lieLines({ name, findings }: ToolAudit): Generator<string> {
  const lies = liesIn(findings);
  if (lies.length > 0) yield paint('bold', plainLine(name));
  for (const { known, message, effect } of lies) {
    yield `  ${plainLine(`${known ? 'known: ' : ''}${message}`)}`;
    if (effect !== undefined) yield paint('dim', `    ${plainLine(wayOf(effect))}`);
  }
}

/** Describes what decides a verdict. */
function doesOf({ effects, findings, unknowns, verdict }: ToolAudit): string {
  const [lie] = liesIn(findings);
  if (lie?.effect !== undefined) return doingOf(lie.effect);
  if (verdict === 'unknown') return `not followed: ${unknowns[0]!.call}`;
  const change = effects.find(({ access }) => access === 'write');
  if (change !== undefined) return doingOf(change);
  const does = effects.length === 0 ? 'computes' : 'only reads';
  return findings.length > 0 ? `${does}, so it could be readonly` : does;
}

/** Returns annotations next to the code that decides a verdict: lies are errors, all other findings are warnings. */
function annotationsOf(
  { name, at, findings, unknowns, verdict }: ToolAudit,
  folder: string,
): readonly string[] {
  const lines: string[] = [];
  for (const { kind, message, effect, known } of findings) {
    if (known) continue;
    const way = effect === undefined ? '' : `\n${plainLine(wayOf(effect))}`;
    const severity = kind === 'lies' ? 'error' : 'warning';
    const text = plainLine(`${name} ${message}`) + way;
    lines.push(annotation(severity, 'audit', text, placeIn(folder, effect?.at ?? at)));
  }
  const [first] = unknowns;
  if (verdict === 'unknown' && first !== undefined) {
    const text = plainLine(`${name} is unknown: ${first.call} was not followed`);
    lines.push(annotation('warning', 'audit', text, placeIn(folder, first.at)));
  }
  return lines;
}

/** Returns the place of code, such as `src/tools.ts:14`, for an annotation. */
function placeIn(folder: string, where: string) {
  const [, file, line] = /^(.*?):(\d+)/.exec(where) ?? [];
  return file === undefined ? {} : { file: plainLine(join(folder, file)), line: Number(line) };
}
