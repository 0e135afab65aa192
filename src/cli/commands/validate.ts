import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { withSlashes } from '../../host/shown-path.js';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { loadManifest } from '../../capability/manifest/load-manifest.js';
import { wholeFinding, type CapabilityFinding } from '../../capability/manifest/manifest-issue.js';
import { command, print } from '../command/command.js';
import { FORMAT_OPTIONS } from '../command/options.js';
import { problemText } from '../load/load-registry.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf } from '../terminal/table.js';
import { annotation, paint, placeText } from '../terminal/terminal.js';

/** The number of tools in a file or folder, and all problems with them. */
interface Validated {
  readonly usable: number;
  readonly total: number;
  readonly issues: readonly CapabilityFinding[];
}

export const commands = {
  validate: command({
    options: FORMAT_OPTIONS,
    examples: ['validate functions.json', 'validate ./manifests --format github'],
    run: async (context) => {
      const { cwd, words } = context;
      const issues: CapabilityFinding[] = [];
      let [usable, total] = [0, 0];
      for (const place of words) {
        const each = await validated(resolve(cwd, place), cwd);
        issues.push(...each.issues);
        usable += each.usable;
        total += each.total;
      }
      const errors = issues.filter(({ severity }) => severity === 'error').length;
      const result = { usable, total, errors, warnings: issues.length - errors, issues };
      print(
        context,
        result,
        () => validatedLines(result),
        () => issues.map((each) => annotation(each.severity, 'manifest', problemText(each), each)),
      );
      return errors === 0 ? EXIT.ok : EXIT.findings;
    },
  }),
};

/** Returns a line for each issue, so that editors and terminals can link to the file and line. */
function* validatedLines({
  usable,
  total,
  errors,
  warnings,
  issues,
}: Validated & Readonly<Record<'errors' | 'warnings', number>>): Generator<string> {
  for (const issue of issues) {
    const style = issue.severity === 'error' ? 'red' : 'yellow';
    yield `${paint('cyan', placeText(issue))} ${paint(style, issue.severity)} ${problemText(issue)}`;
  }
  const mark = errors === 0 ? paint('green', '✓') : paint('red', '✗');
  yield `${mark} ${usable} of ${amountOf(total, 'tool')} usable, ${amountOf(errors, 'error')}, ${amountOf(warnings, 'warning')}`;
}

/**
 * Loads a file or folder of manifests. A folder is checked together with the skills, jobs and tasks
 * that refer to its tools.
 */
async function validated(path: string, cwd: string): Promise<Validated> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true;
  const name = withSlashes(relative(cwd, path)) || '.';
  const kind = isFolder ? undefined : /(?:^|[\\/])(skills|jobs|tasks)\.json$/.exec(path)?.[1];
  if (kind !== undefined) {
    const message = `This file contains ${kind}, which are checked together with the tools they need. Validate the folder that contains the file.`;
    return { usable: 0, total: 0, issues: [wholeFinding(null, name, { message })] };
  }
  const { entries, total, issues } = await loadManifest(isFolder ? { root: path } : path, {
    onInvalid: 'quarantine',
  });
  const all = isFolder ? (await CapabilityRegistry.load({ root: path })).findings : [];
  // A folder without manifests isn't valid: the path is probably wrong.
  // Loading the folder has already reported an issue.
  const isOfFolder = isFolder && (total > 0 || all.length > 0);
  const found: CapabilityFinding[] = [];
  for (const issue of isOfFolder ? all : issues) {
    const file = isOfFolder ? withSlashes(relative(cwd, resolve(path, issue.file))) : name;
    found.push({ ...issue, file, line: issue.line ?? 1, column: issue.column ?? 1 });
  }
  return { usable: entries.length, total, issues: found };
}
