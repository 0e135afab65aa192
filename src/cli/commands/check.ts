import { Option, type Command } from 'commander';
import { createTwoFilesPatch } from 'diff';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { inManifestKeys } from '../../capability/manifest/define-entry.js';
import { loadManifest, type LoadedEntry } from '../../capability/manifest/load-manifest.js';
import type { ManifestIssue } from '../../capability/manifest/manifest-issue.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { lintTools, type LintFinding } from '../../registry/lint/lint-tools.js';
import { flagWords, requiredFlags, type RequiredFlags } from '../../safety/required-flags.js';
import { entryOf } from '../../tool/tool-definition.js';
import { EXIT } from '../terminal/exit-codes.js';
import { fixManifest, linesToAdd } from '../load/fix-manifest.js';
import { lintRulesFor } from '../load/lint-settings.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import { plainLine, paint, plainText, type Terminal } from '../terminal/terminal.js';
import { collectValues, type CommandFamily, type CommandOptions } from '../load/options.js';
import { amountOf, table } from '../terminal/table.js';

/** The formats of findings: for users, for programs, or as annotations that CI services show beside the code. */
const FORMATS = ['table', 'json', 'github'] as const;
type Format = (typeof FORMATS)[number];

const formatted = (command: Command, what: string) => command.addOption(new Option('--format <format>', `how ${what} are printed`).choices(FORMATS).default('table'));
const formatOf = ({ json, format }: CommandOptions): Format => (json === true ? 'json' : (format as Format));

/** Tells what is wrong with tools. */
export const CHECK_COMMANDS: CommandFamily = {
  lint: (command, { terminal, cwd, onTools }) =>
    onTools(
      formatted(command, 'findings')
        .option('--rule <name=severity>', 'off, warning or error for a rule; repeat, or separate with commas (also: lint.rules in tooldex.config.json, or under tooldex in package.json)', collectValues())
        .option('--fix', 'write what is inferred of a tool into its manifest; for tools of code, print the lines to add')
        .option('--dry-run', 'with --fix: show the changes, and write nothing'),
      ['lint', 'lint --tools ./tools --format github', 'lint --rule no-keywords=off', 'lint --manifests ./manifests --fix --dry-run'],
      (loaded, options) => lint(terminal, cwd, loaded, options),
      { showsProblems: true },
    ),
  validate: (command, { terminal, cwd, alone }) =>
    alone(formatted(command, 'problems'), ['validate functions.json', 'validate ./manifests --format github'], (options, places) => validate(terminal, places, formatOf(options), cwd)),
};

/** A finding with the file its tool was loaded from, where there is one. */
interface Located extends LintFinding {
  readonly file: string | undefined;
}

/** Prints what to fix in the tools' metadata; returns 0 for nothing, 1 for findings. */
async function lint(terminal: Terminal, cwd: string, loaded: LoadedRegistry, options: CommandOptions): Promise<number> {
  const { registry, problems, fileOf } = loaded;
  const format = formatOf(options);
  if (options['dryRun'] === true && options['fix'] !== true) throw new ToolError('INVALID_ARGUMENT', expectedGot('--dry-run together with --fix', 'it alone'));
  const rules = await lintRulesFor(cwd, options['rule'] as readonly string[] | undefined);
  if (options['fix'] === true) for (const line of await fix(terminal, cwd, loaded, options, lintTools(registry, { rules }))) terminal[format === 'table' ? 'out' : 'err'](line);
  const unloaded = problems.map(({ file, reason }): Located => ({ rule: 'load-error', severity: 'error', toolName: '', message: reason, file }));
  const linted = lintTools(registry, { rules }).map((finding): Located => {
    const file = fileOf.get(finding.toolName);
    // Authors of manifests read their own keys.
    return { ...finding, file, ...(file?.endsWith('.json') === true && { message: inManifestKeys(finding.message) }) };
  });
  const findings = [...unloaded, ...linted];
  const off = Object.keys(rules).filter((name) => rules[name as keyof typeof rules] === 'off');
  if (format === 'json') terminal.out(JSON.stringify(findings, null, 2));
  else if (format === 'github') for (const { severity, rule, toolName, file, message } of findings) terminal.out(annotation(severity, rule, toolName === '' ? message : `${toolName}: ${plainLine(message)}`, file));
  else printTable(terminal, findings, `${registry.size} tools`, off.length === 0 ? '' : ` (off: ${off.join(', ')})`);
  return findings.length === 0 ? EXIT.ok : EXIT.findings;
}

/** Writes what is inferred of tools into their manifests, which changes nothing that they do; returns lines about that, and what to add to tools of code. */
async function fix(terminal: Terminal, cwd: string, { registry, fileOf }: LoadedRegistry, { manifests, mcp, dryRun }: CommandOptions, findings: readonly LintFinding[]): Promise<readonly string[]> {
  if (mcp !== undefined) throw new ToolError('INVALID_ARGUMENT', expectedGot('--fix without --mcp', 'both', 'Tools of servers are declared by their servers.'));
  const toFix = findings.filter(({ rule }) => rule === 'inferred-safety').map(({ toolName }) => registry.require(toolName));
  const isManifest = (name: string) => fileOf.get(name)?.endsWith('.json') === true;
  const told = toFix.filter(({ name }) => !isManifest(name)).map(({ name, definition }) => `${paint(terminal, 'yellow', 'to add')} ${fileOf.get(name) ?? '(bundled)'} ${name}: ${linesToAdd(definition).join(' ')}`);
  for (const [first, ...others] of groupBy(toFix.filter(({ name }) => isManifest(name)), ({ name }) => fileOf.get(name)!)) {
    const file = fileOf.get(first.name)!;
    const names = [first, ...others].map(({ name }) => name);
    const path = resolve(cwd, manifests ?? '.', file);
    const before = await readFile(path, 'utf8');
    const fixed = fixManifest(before, new Set(names));
    if (fixed === undefined) told.push(`${paint(terminal, 'red', 'not fixed')} ${plainLine(file)}: its text would no longer describe the same tools`);
    else if (dryRun === true) told.push(plainText(createTwoFilesPatch(file, file, before, fixed.text, undefined, undefined, { context: 2 }).trimEnd()));
    else {
      await writeFile(path, fixed.text);
      registry.registerAll(fixed.definitions, { replace: true });
      told.push(`${paint(terminal, 'green', 'fixed')} ${plainLine(file)}: ${names.join(', ')}`);
    }
  }
  return told;
}

function printTable(terminal: Terminal, findings: readonly Located[], tools: string, off: string): void {
  if (findings.length === 0) return terminal.out(`${paint(terminal, 'green', '✓')} ${tools}, nothing to fix${off}`);
  const groups = [...groupBy(findings, ({ severity, rule, toolName, message, file }) => JSON.stringify([severity, rule, message, toolName === '' ? file : '']))];
  terminal.out(
    table(terminal, groups, [
      { title: 'SEVERITY', value: ([{ severity }]) => severity, style: ([{ severity }]) => (severity === 'error' ? 'red' : 'yellow') },
      { title: 'RULE', value: ([{ rule }]) => rule },
      { title: 'TOOL', value: ([{ toolName }, ...others]) => (others.length > 0 ? `${others.length + 1} tools` : toolName || '–'), style: () => 'bold' },
      { title: 'MESSAGE', value: ([{ toolName, file, message }, ...others]) => (toolName === '' ? `${file}: ${message}` : others.length === 0 ? message : `${message} – ${[toolName, ...others.map((each) => each.toolName)].join(', ')}`), narrow: 'wrap' },
    ]),
  );
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  terminal.out(`\n${errors} errors, ${findings.length - errors} warnings in ${tools}${off}`);
}

/** Returns the values in groups, in the order in which each begins. */
function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Iterable<readonly [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups.values();
}

/** The tools of a place, and everything that is wrong with them. */
interface Validated {
  /** Usable tools, and all that the files have. */
  readonly usable: number;
  readonly total: number;
  readonly issues: readonly Issue[];
  /** The flags that calls of a tool need, and the file that says so. */
  readonly flags: readonly { readonly file: string; readonly entryName: string; readonly requires_flags: RequiredFlags }[];
}

type Issue = Omit<ManifestIssue, 'line' | 'column'> & { readonly line: number | null; readonly column: number | null };

/** Prints everything that is wrong in manifest files, one line each that editors can follow, and the flags that calls need; returns 0, or 1 when there is an error. */
async function validate(terminal: Terminal, places: readonly string[], format: Format, cwd: string): Promise<number> {
  const all: Validated[] = [];
  for (const place of places) {
    const path = resolve(cwd, place);
    const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true;
    all.push(isFolder ? await validateFolder(path, cwd) : await validateFile(path));
  }
  const issues = all.flatMap((each) => each.issues);
  const flags = all.flatMap((each) => each.flags);
  const errors = issues.filter(({ severity }) => severity === 'error').length;
  const usable = all.reduce((sum, each) => sum + each.usable, 0);
  const total = all.reduce((sum, each) => sum + each.total, 0);
  if (format === 'json') terminal.out(JSON.stringify({ usable, total, errors, warnings: issues.length - errors, issues, flags }, null, 2));
  else if (format === 'github') for (const issue of issues) terminal.out(annotation(issue.severity, 'manifest', textOf(issue), issue.file, issue.line ?? 1));
  else {
    for (const issue of issues) terminal.out(lineOf(terminal, issue));
    for (const { file, entryName, requires_flags: required } of flags) terminal.out(`${paint(terminal, 'cyan', plainLine(file))} ${plainLine(`${JSON.stringify(entryName)}: needs flags ${flagWords(required).join('; ')}`)}`);
    const summary = `${usable} of ${total} tools usable, ${amountOf(errors, 'error')}, ${amountOf(issues.length - errors, 'warning')}`;
    terminal.out(`${issues.length + flags.length === 0 ? '' : '\n'}${errors === 0 ? paint(terminal, 'green', '✓') : paint(terminal, 'red', '✗')} ${summary}`);
  }
  return errors === 0 ? EXIT.ok : EXIT.findings;
}

async function validateFile(path: string): Promise<Validated> {
  const kind = /(?:^|[\\/])(skills|jobs|tasks)\.json$/.exec(path)?.[1];
  if (kind !== undefined) {
    const message = expectedGot('a manifest of tools, or a folder', `a file of ${kind}`, `Validate the folder that it is in: ${kind} are checked together with the tools that they need.`);
    return { usable: 0, total: 0, flags: [], issues: [{ severity: 'error', file: relative(process.cwd(), path), line: 1, column: 1, path: '', message }] };
  }
  const { definitions, entries, total, issues } = await loadManifest(path, { onInvalid: 'quarantine' });
  return { usable: definitions.length, total, issues, flags: flagsOf(entries) };
}

function flagsOf(entries: readonly LoadedEntry[]): Validated['flags'] {
  return entries.flatMap(({ file, definition }) => {
    const required = requiredFlags(entryOf(definition));
    return required === undefined ? [] : [{ file, entryName: definition.name, requires_flags: required }];
  });
}

/** Tools, and the skills, jobs and tasks that refer to them. */
async function validateFolder(root: string, cwd: string): Promise<Validated> {
  const { definitions, entries, total, issues } = await loadManifest({ root }, { onInvalid: 'quarantine' });
  const { findings } = await CapabilityRegistry.load({ root });
  const folder = relative(cwd, root);
  // A folder without manifests is a wrong path, and no success.
  if (total === 0 && findings.length === 0) return { usable: 0, total, flags: [], issues: issues.map((issue) => ({ ...issue, file: folder === '' ? '.' : folder })) };
  return { usable: definitions.length, total, flags: flagsOf(entries), issues: findings.map((finding) => ({ ...finding, file: folder === '' ? finding.file : `${folder}/${finding.file}` })) };
}

/** Returns a line with `file:line:column`, which editors and terminals make a link of. */
function lineOf(terminal: Terminal, issue: Issue): string {
  const place = `${issue.file}:${issue.line ?? 1}:${issue.column ?? 1}`;
  return `${paint(terminal, 'cyan', plainLine(place))} ${paint(terminal, issue.severity === 'error' ? 'red' : 'yellow', issue.severity)} ${textOf(issue)}`;
}

function textOf({ entryName, path, message }: Issue): string {
  const who = [entryName === undefined ? '' : JSON.stringify(entryName), path].filter((part) => part !== '').join(' ');
  return plainLine(who === '' ? message : `${who}: ${message}`);
}

/** Returns a workflow command of GitHub Actions, which other CI services read too. */
function annotation(severity: 'error' | 'warning', title: string, message: string, file?: string, line?: number): string {
  const place = file === undefined ? '' : `file=${escapeProperty(file)},${line === undefined ? '' : `line=${line},`}`;
  return `::${severity} ${place}title=${escapeProperty(title)}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
