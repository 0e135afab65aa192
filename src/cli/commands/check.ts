import { Option, type Command } from 'commander';
import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { inManifestKeys } from '../../capability/manifest/define-entry.js';
import { loadManifest, type LoadedEntry } from '../../capability/manifest/load-manifest.js';
import type { ManifestIssue } from '../../capability/manifest/manifest-issue.js';
import { expectedGot } from '../../core/issues.js';
import { lintTools, type LintFinding } from '../../registry/lint/lint-tools.js';
import { flagWords, requiredFlags, type RequiredFlags } from '../../safety/required-flags.js';
import { entryOf } from '../../tool/tool-definition.js';
import { EXIT } from '../terminal/exit-codes.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import { plainLine, paint, type Terminal } from '../terminal/terminal.js';
import type { CommandFamily, CommandOptions } from '../load/options.js';
import { amountOf, table } from '../terminal/table.js';

/** The formats of findings: for users, for programs, or as annotations that CI services show beside the code. */
const FORMATS = ['table', 'json', 'github'] as const;
type Format = (typeof FORMATS)[number];

const formatted = (command: Command, what: string) => command.addOption(new Option('--format <format>', `how ${what} are printed`).choices(FORMATS).default('table'));
const formatOf = ({ json, format }: CommandOptions): Format => (json === true ? 'json' : (format as Format));

/** Tells what is wrong with tools. */
export const CHECK_COMMANDS: CommandFamily = {
  lint: (command, { terminal, onTools }) =>
    onTools(formatted(command, 'findings'), ['lint', 'lint --tools ./tools --format github'], (loaded, options) => lint(terminal, loaded, formatOf(options)), { showsProblems: true }),
  validate: (command, { terminal, cwd, alone }) =>
    alone(formatted(command, 'problems'), ['validate functions.json', 'validate ./manifests --format github'], (options, places) => validate(terminal, places, formatOf(options), cwd)),
};

/** A finding with the file its tool was loaded from, where there is one. */
interface Located extends LintFinding {
  readonly file: string | undefined;
}

/** Prints what to fix in the tools' metadata; returns 0 for nothing, 1 for findings. */
function lint(terminal: Terminal, { registry, problems, fileOf }: LoadedRegistry, format: Format): number {
  const unloaded = problems.map(({ file, reason }): Located => ({ rule: 'load-error', severity: 'error', toolName: '', message: reason, file }));
  const linted = lintTools(registry).map((finding): Located => {
    const file = fileOf.get(finding.toolName);
    // Authors of manifests read their own keys.
    return { ...finding, file, ...(file?.endsWith('.json') === true && { message: inManifestKeys(finding.message) }) };
  });
  const findings = [...unloaded, ...linted];
  if (format === 'json') terminal.out(JSON.stringify(findings, null, 2));
  else if (format === 'github') for (const { severity, rule, toolName, file, message } of findings) terminal.out(annotation(severity, rule, toolName === '' ? message : `${toolName}: ${plainLine(message)}`, file));
  else printTable(terminal, findings, registry.size);
  return findings.length === 0 ? 0 : 1;
}

function printTable(terminal: Terminal, findings: readonly Located[], tools: number): void {
  if (findings.length === 0) return terminal.out(`${paint(terminal, 'green', '✓')} ${tools} tools, nothing to fix`);
  terminal.out(
    table(terminal, findings, [
      { title: 'SEVERITY', value: ({ severity }) => severity, style: ({ severity }) => (severity === 'error' ? 'red' : 'yellow') },
      { title: 'RULE', value: ({ rule }) => rule },
      { title: 'TOOL', value: ({ toolName }) => toolName || '–', style: () => 'bold' },
      { title: 'MESSAGE', value: ({ toolName, file, message }) => (toolName === '' ? `${file}: ${message}` : message), narrow: 'wrap' },
    ]),
  );
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  terminal.out(`\n${errors} errors, ${findings.length - errors} warnings in ${tools} tools`);
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
