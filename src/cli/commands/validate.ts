import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { loadManifest } from '../../capability/manifest/load-manifest.js';
import { wholeFinding, type ManifestIssue } from '../../capability/manifest/manifest-issue.js';
import { flagWords, requiredFlags } from '../../safety/required-flags.js';
import { entryOf, type ToolEntry } from '../../tool/tool-definition.js';
import { command, print } from '../command/command.js';
import { FORMAT_OPTIONS, formatOf } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf } from '../terminal/table.js';
import {
  annotation,
  paint,
  placeText,
  plainLine,
  type FindingPlace,
} from '../terminal/terminal.js';

type Issue = Omit<ManifestIssue, keyof FindingPlace> & FindingPlace<string>;

export const validate = command({
  options: FORMAT_OPTIONS,
  examples: ['validate functions.json', 'validate ./manifests --format github'],
  run: async (context) => {
    const { terminal, cwd, words, options } = context;
    const all = await Promise.all(words.map((place) => validated(resolve(cwd, place), cwd)));
    const issues = all.flatMap((each) => each.issues);
    // The flags that calls of a tool need, and the file that requires them.
    const flags = all
      .flatMap(({ tools }) => tools)
      .map(({ file, entry }) => ({
        file,
        entryName: entry.name,
        requires_flags: requiredFlags(entry),
      }))
      .filter((each) => each.requires_flags !== undefined);
    const errors = issues.filter(({ severity }) => severity === 'error').length;
    const warnings = issues.length - errors;
    const sum = (of: 'usable' | 'total') => all.reduce((count, each) => count + each[of], 0);
    const [usable, total] = [sum('usable'), sum('total')];
    const format = formatOf(options);
    if (format === 'github')
      for (const issue of issues) {
        const place = { ...issue, line: issue.line ?? 1 };
        terminal.out(annotation(issue.severity, 'manifest', textOf(issue), place));
      }
    else
      print(
        { terminal, options: { json: format === 'json' } },
        { usable, total, errors, warnings, issues, flags },
        function* () {
          for (const issue of issues) {
            const { severity, line, column } = issue;
            // Editors and terminals make a link of the place.
            const place = placeText({ ...issue, line: line ?? 1, column: column ?? 1 });
            const style = severity === 'error' ? 'red' : 'yellow';
            yield `${paint(terminal, 'cyan', place)} ${paint(terminal, style, severity)} ${textOf(issue)}`;
          }
          for (const { file, entryName, requires_flags: required } of flags)
            yield `${paint(terminal, 'cyan', plainLine(file))} ${plainLine(`${JSON.stringify(entryName)}: needs flags ${flagWords(required).join('; ')}`)}`;
          const mark = errors === 0 ? paint(terminal, 'green', '✓') : paint(terminal, 'red', '✗');
          const gap = issues.length + flags.length === 0 ? '' : '\n';
          yield `${gap}${mark} ${usable} of ${amountOf(total, 'tool')} usable, ${amountOf(errors, 'error')}, ${amountOf(warnings, 'warning')}`;
        },
      );
    return errors === 0 ? EXIT.ok : EXIT.findings;
  },
});

/** The tools of a file or folder, and everything that's wrong with them. */
interface Validated {
  readonly usable: number;
  readonly total: number;
  readonly issues: readonly Issue[];
  readonly tools: readonly { readonly file: string; readonly entry: ToolEntry }[];
}

/** Loads a file or folder of manifests. A folder is checked with the skills, jobs and tasks that refer to its tools. */
async function validated(path: string, cwd: string): Promise<Validated> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true;
  const shown = (file = '') => relative(cwd, isFolder ? resolve(path, file) : path) || '.';
  const kind = isFolder ? undefined : /(?:^|[\\/])(skills|jobs|tasks)\.json$/.exec(path)?.[1];
  if (kind !== undefined) {
    const message = `This is a file of ${kind}, which are checked together with the tools that they need. Validate the folder that it is in.`;
    return { usable: 0, total: 0, issues: [wholeFinding(null, shown(), { message })], tools: [] };
  }
  const { entries, total, issues } = await loadManifest(isFolder ? { root: path } : path, {
    onInvalid: 'quarantine',
  });
  const all = isFolder ? await CapabilityRegistry.load({ root: path }) : undefined;
  // A folder without manifests is a wrong path, not a success: loading it reported an issue.
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

function textOf({ entryName, path, message }: Issue): string {
  const who = [entryName === undefined ? '' : JSON.stringify(entryName), path]
    .filter((part) => part !== '')
    .join(' ');
  return plainLine(who === '' ? message : `${who}: ${message}`);
}
