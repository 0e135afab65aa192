import { createTwoFilesPatch } from 'diff';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { inManifestKeys } from '../../capability/manifest/define-entry.js';
import { loadManifest } from '../../capability/manifest/load-manifest.js';
import { type ManifestIssue, wholeFinding } from '../../capability/manifest/manifest-issue.js';
import { expectedGot } from '../../core/issues.js';
import {
  lintEach,
  lintTools,
  withSeverities,
  type LintFinding,
  type LintRules,
} from '../../registry/lint/lint-tools.js';
import { flagWords, requiredFlags } from '../../safety/required-flags.js';
import { normalizeLabel } from '../../tool/metadata-schema.js';
import { entryOf, type ToolEntry } from '../../tool/tool-definition.js';
import { EXIT } from '../terminal/exit-codes.js';
import { fixManifest, linesToAdd } from '../load/fix-manifest.js';
import { lintRulesFor } from '../load/lint-settings.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import { replaceFile } from '../load/replace-file.js';
import {
  annotation,
  plainLine,
  paint,
  placeText,
  plainText,
  type FindingPlace,
  type Terminal,
} from '../terminal/terminal.js';
import {
  collectValues,
  formatOf,
  formatted,
  type CommandFamily,
  type CommandOptions,
  type Format,
} from '../load/options.js';
import { amountOf, table } from '../terminal/table.js';
import { requireTogether, wrongUsage } from '../terminal/wrong-usage.js';

/** Tells what is wrong with tools. */
export const CHECK_COMMANDS: CommandFamily = {
  lint: (command, { terminal, cwd, onTools }) =>
    onTools(
      formatted(command, 'findings')
        .option(
          '--rule <name=severity>',
          'off, warning or error for a rule; repeat, or separate with commas (also: lint.rules in tooldex.config.json, or under tooldex in package.json)',
          collectValues(),
        )
        .option(
          '--fix',
          'write what is inferred of a tool into its manifest; for tools of code, print the lines to add',
        )
        .option('--dry-run', 'with --fix: show the changes, and write nothing'),
      [
        'lint',
        'lint --tools ./tools --format github',
        'lint --rule no-keywords=off',
        'lint --manifests ./manifests --fix --dry-run',
      ],
      (loaded, options) => lint(terminal, cwd, loaded, options),
      { showsProblems: true, looks: true },
    ),
  validate: (command, { terminal, cwd, alone }) =>
    alone(
      formatted(command, 'problems'),
      ['validate functions.json', 'validate ./manifests --format github'],
      (options, places) => validate(terminal, places, formatOf(options), cwd),
    ),
};

type Located = LintFinding & FindingPlace;

/** Prints what to fix in the tools' metadata; returns 0 for nothing, 1 for findings. */
async function lint(
  terminal: Terminal,
  cwd: string,
  loaded: LoadedRegistry,
  options: CommandOptions,
): Promise<number> {
  const format = formatOf(options);
  requireTogether(options, { fix: ['dry-run'] });
  const rules = await lintRulesFor(cwd, options['rule'] as readonly string[] | undefined);
  const fixed =
    options['fix'] === true
      ? await fix(terminal, cwd, loaded, options, lintLoaded(loaded, rules))
      : undefined;
  for (const line of fixed?.told ?? []) terminal[format === 'table' ? 'out' : 'err'](line);
  // What was written is judged as the next run will load it.
  const now = (fixed?.wrote === true ? await loaded.again?.() : undefined) ?? loaded;
  const { registry, problems, fileOf, owned } = now;
  const unloaded = problems.map(({ file, line = null, column = null, reason }): Located => ({
    rule: 'load-error',
    severity: 'error',
    toolName: '',
    message: reason,
    file,
    line,
    column,
  }));
  const found = lintLoaded(now, rules);
  const lines = await linesOf(
    new Set(found.flatMap(({ toolName }) => fileOf.get(toolName) ?? [])),
    cwd,
  );
  const linted = found.map((finding): Located => {
    const file = fileOf.get(finding.toolName) ?? null;
    // Authors of manifests read their own keys.
    return {
      ...finding,
      file,
      line: lines.get(`${file} ${owned?.get(finding.toolName)?.name ?? finding.toolName}`) ?? null,
      column: null,
      ...(isManifest(file) && { message: inManifestKeys(finding.message) }),
    };
  });
  const findings = [...unloaded, ...linted];
  const off = Object.keys(rules).filter((name) => rules[name as keyof typeof rules] === 'off');
  if (format === 'json') terminal.out(JSON.stringify(findings, null, 2));
  else if (format === 'github') {
    for (const { severity, rule, toolName, message, ...place } of findings) {
      // The place of a problem may be a pattern, or a server.
      const isFile = place.file !== null && existsSync(resolve(cwd, place.file));
      const who =
        toolName !== '' ? `${toolName}: ` : isFile || place.file === null ? '' : `${place.file}: `;
      terminal.out(
        annotation(severity, rule, who + plainLine(message), isFile ? place : undefined),
      );
    }
  } else
    printTable(
      terminal,
      findings,
      amountOf(registry.size, 'tool'),
      off.length === 0 ? '' : ` (off: ${off.join(', ')})`,
    );
  return findings.length === 0 ? EXIT.ok : EXIT.findings;
}

/** Lints the tools, those of each persona beside the shared ones. */
function lintLoaded(
  { registry, owned = new Map() }: Pick<LoadedRegistry, 'registry' | 'owned'>,
  rules: LintRules,
): readonly LintFinding[] {
  if (owned.size === 0) return lintTools(registry, { rules });
  const tools = [...registry].map((entry) => ({
    entry,
    owner: owned.get(entry.name)?.persona ?? '',
    name: owned.get(entry.name)?.name ?? entry.name,
  }));
  const categories = registry.getAllCategories();
  const found = lintEach(tools, {
    knows: (name) => registry.has(name) || categories.has(normalizeLabel(name)),
    // A persona's tool stands in place of the shared one of its name.
    meet: (a, b) => a.name !== b.name && (a.owner === b.owner || a.owner === '' || b.owner === ''),
  });
  return withSeverities(found.flat(), rules);
}

const isManifest = (file: string | null | undefined) => file?.endsWith('.json') === true;

/** Returns the lines where tools of manifests begin, by file and name. */
async function linesOf(
  files: ReadonlySet<string>,
  cwd: string,
): Promise<ReadonlyMap<string, number>> {
  const all = await Promise.all(
    [...files]
      .filter(isManifest)
      .map(async (file) =>
        (await loadManifest(resolve(cwd, file), { onInvalid: 'quarantine' })).entries.map(
          ({ definition, line }) => [`${file} ${definition.name}`, line] as const,
        ),
      ),
  );
  return new Map(all.flat());
}

/** Writes what is inferred of tools into their manifests, which changes nothing that they do; tells about that, and what to add to tools of code. */
async function fix(
  terminal: Terminal,
  cwd: string,
  { registry, fileOf, owned }: LoadedRegistry,
  { mcp, dryRun }: CommandOptions,
  findings: readonly LintFinding[],
): Promise<{ readonly told: readonly string[]; readonly wrote: boolean }> {
  if (mcp !== undefined)
    throw wrongUsage(
      '--fix without --mcp',
      'both',
      'Tools of servers are declared by their servers.',
    );
  const toFix = findings
    .filter(({ rule }) => rule === 'inferred-safety')
    .map(({ toolName }) => registry.require(toolName));
  const [ofCode, ofManifests] = [false, true].map((wanted) =>
    toFix.filter(({ name }) => isManifest(fileOf.get(name)) === wanted),
  ) as [ToolEntry[], ToolEntry[]];
  const told = ofCode.map(
    ({ name, definition }) =>
      `${paint(terminal, 'yellow', 'to add')} ${plainLine(fileOf.get(name) ?? '(bundled)')} ${name}: ${linesToAdd(definition).join(' ')}`,
  );
  let wrote = false;
  for (const tools of groupBy(ofManifests, ({ name }) => fileOf.get(name)!)) {
    const file = fileOf.get(tools[0].name)!;
    const names = tools.map(({ name }) => owned?.get(name)?.name ?? name);
    const path = resolve(cwd, file);
    const notFixed = (why: string) =>
      told.push(`${paint(terminal, 'red', 'not fixed')} ${plainLine(file)}: ${why}`);
    try {
      const before = await readFile(path, 'utf8');
      const after = fixManifest(before, new Set(names));
      if (after === undefined) notFixed('its text would no longer describe the same tools');
      else if (dryRun === true)
        told.push(
          plainText(
            createTwoFilesPatch(file, file, before, after, undefined, undefined, {
              context: 2,
            }).trimEnd(),
          ),
        );
      else {
        await replaceFile(path, after);
        wrote = true;
        told.push(`${paint(terminal, 'green', 'fixed')} ${plainLine(file)}: ${names.join(', ')}`);
      }
    } catch (error) {
      notFixed(
        expectedGot(
          'a file that can be read and written',
          (error as NodeJS.ErrnoException).code ?? 'an error',
        ),
      );
    }
  }
  if (told.length > 0)
    told.push(
      'These values are the strictest that are inferred, not the truth: declare what is true of each tool.',
    );
  return { told, wrote };
}

function printTable(
  terminal: Terminal,
  findings: readonly Located[],
  tools: string,
  off: string,
): void {
  if (findings.length === 0)
    return terminal.out(`${paint(terminal, 'green', '✓')} ${tools}, nothing to fix${off}`);
  const placeOf = ({ file, ...rest }: Located) => placeText({ ...rest, file: file ?? '' });
  const groups = [
    ...groupBy(findings, (each) =>
      JSON.stringify([
        each.severity,
        each.rule,
        each.message,
        each.toolName === '' ? placeOf(each) : '',
      ]),
    ),
  ];
  terminal.out(
    table(terminal, groups, [
      {
        title: 'SEVERITY',
        value: ([{ severity }]) => severity,
        style: ([{ severity }]) => (severity === 'error' ? 'red' : 'yellow'),
      },
      { title: 'RULE', value: ([{ rule }]) => rule },
      {
        title: 'TOOL',
        value: ([{ toolName }, ...others]) =>
          others.length > 0 ? `${others.length + 1} tools` : toolName || '–',
        style: () => 'bold',
      },
      {
        title: 'MESSAGE',
        value: ([first, ...others]) =>
          first.toolName === ''
            ? `${placeOf(first)}: ${first.message}`
            : others.length === 0
              ? first.message
              : `${first.message} – ${[first.toolName, ...others.map((each) => each.toolName)].join(', ')}`,
        narrow: 'wrap',
      },
    ]),
  );
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const grouped =
    groups.length === findings.length ? '' : ` in ${amountOf(groups.length, 'group')}`;
  terminal.out(
    `\n${amountOf(errors, 'error')}, ${amountOf(findings.length - errors, 'warning')}${grouped}; ${tools} checked${off}`,
  );
}

/** Returns the values in groups, in the order in which each begins. */
function groupBy<T>(
  values: readonly T[],
  keyOf: (value: T) => string,
): Iterable<readonly [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups.values();
}

type Issue = Omit<ManifestIssue, keyof FindingPlace> & FindingPlace<string>;

/** Prints everything that is wrong in manifest files, one line each that editors can follow, and the flags that calls need; returns 0, or 1 when there is an error. */
async function validate(
  terminal: Terminal,
  places: readonly string[],
  format: Format,
  cwd: string,
): Promise<number> {
  const all = await Promise.all(places.map((place) => validated(resolve(cwd, place), cwd)));
  const issues = all.flatMap((each) => each.issues);
  // The flags that calls of a tool need, and the file that says so.
  const flags = all.flatMap(({ tools }) =>
    tools.flatMap(({ file, entry }) => {
      const required = requiredFlags(entry);
      return required === undefined
        ? []
        : [{ file, entryName: entry.name, requires_flags: required }];
    }),
  );
  const errors = issues.filter(({ severity }) => severity === 'error').length;
  const usable = all.reduce((sum, each) => sum + each.usable, 0);
  const total = all.reduce((sum, each) => sum + each.total, 0);
  if (format === 'json')
    terminal.out(
      JSON.stringify(
        { usable, total, errors, warnings: issues.length - errors, issues, flags },
        null,
        2,
      ),
    );
  else if (format === 'github')
    for (const issue of issues)
      terminal.out(
        annotation(issue.severity, 'manifest', textOf(issue), { ...issue, line: issue.line ?? 1 }),
      );
  else {
    for (const issue of issues) terminal.out(lineOf(terminal, issue));
    for (const { file, entryName, requires_flags: required } of flags)
      terminal.out(
        `${paint(terminal, 'cyan', plainLine(file))} ${plainLine(`${JSON.stringify(entryName)}: needs flags ${flagWords(required).join('; ')}`)}`,
      );
    const summary = `${usable} of ${total} tools usable, ${amountOf(errors, 'error')}, ${amountOf(issues.length - errors, 'warning')}`;
    terminal.out(
      `${issues.length + flags.length === 0 ? '' : '\n'}${errors === 0 ? paint(terminal, 'green', '✓') : paint(terminal, 'red', '✗')} ${summary}`,
    );
  }
  return errors === 0 ? EXIT.ok : EXIT.findings;
}

/** The tools of a place, and everything that is wrong with them. */
interface Validated {
  /** Usable tools, and all that the files have. */
  readonly usable: number;
  readonly total: number;
  readonly issues: readonly Issue[];
  readonly tools: readonly { readonly file: string; readonly entry: ToolEntry }[];
}

/** Loads a file or folder of manifests; of a folder also the skills, jobs and tasks that refer to its tools. */
async function validated(path: string, cwd: string): Promise<Validated> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true;
  const shown = (file = '') => relative(cwd, isFolder ? resolve(path, file) : path) || '.';
  const kind = isFolder ? undefined : /(?:^|[\\/])(skills|jobs|tasks)\.json$/.exec(path)?.[1];
  if (kind !== undefined) {
    const message = expectedGot(
      'a manifest of tools, or a folder',
      `a file of ${kind}`,
      `Validate the folder that it is in: ${kind} are checked together with the tools that they need.`,
    );
    const issues = [wholeFinding(null, shown(), { message })];
    return { usable: 0, total: 0, issues, tools: [] };
  }
  const { entries, total, issues } = await loadManifest(isFolder ? { root: path } : path, {
    onInvalid: 'quarantine',
  });
  const all = isFolder ? await CapabilityRegistry.load({ root: path }) : undefined;
  // A folder without manifests is a wrong path, and no success: loading it has an issue.
  const isEmpty = total === 0 && all?.findings.length === 0;
  return {
    usable: entries.length,
    total,
    issues:
      all === undefined || isEmpty
        ? issues.map((each) => ({ ...each, file: shown() }))
        : all.findings.map((each) => ({ ...each, file: shown(each.file) })),
    tools:
      all?.tools().map(({ source, entry }) => ({ file: shown(source), entry })) ??
      entries.map(({ definition }) => ({ file: shown(), entry: entryOf(definition) })),
  };
}

/** Returns a line with `file:line:column`, which editors and terminals make a link of. */
function lineOf(terminal: Terminal, issue: Issue): string {
  const place = placeText({ file: issue.file, line: issue.line ?? 1, column: issue.column ?? 1 });
  return `${paint(terminal, 'cyan', place)} ${paint(terminal, issue.severity === 'error' ? 'red' : 'yellow', issue.severity)} ${textOf(issue)}`;
}

function textOf({ entryName, path, message }: Issue): string {
  const who = [entryName === undefined ? '' : JSON.stringify(entryName), path]
    .filter((part) => part !== '')
    .join(' ');
  return plainLine(who === '' ? message : `${who}: ${message}`);
}
