import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { inManifestKeys } from '../../capability/manifest/define-entry.js';
import { loadManifest } from '../../capability/manifest/load-manifest.js';
import {
  lintEach,
  staleHints,
  withSeverities,
  type LintFinding,
  type LintRules,
} from '../../registry/lint/lint-tools.js';
import { normalizeLabel } from '../../tool/metadata-schema.js';
import { ToolError } from '../../core/errors.js';
import { command, print } from '../command/command.js';
import { lintRulesFor } from '../load/settings.js';
import { loadRegistry, type LoadedRegistry } from '../load/load-registry.js';
import { flag, FORMAT_OPTIONS, listOption, TOOL_OPTIONS } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf } from '../terminal/table.js';
import {
  annotation,
  paint,
  placeText,
  plainLine,
  type FindingPlace,
} from '../terminal/terminal.js';

type Located = LintFinding & FindingPlace;

export const commands = {
  lint: command({
    options: {
      ...TOOL_OPTIONS,
      ...FORMAT_OPTIONS,
      bundled: flag('check the bundled tools', {
        excludes: ['tools', 'manifests', 'mcp', 'openapi'],
      }),
      rule: listOption(
        '<name=severity>',
        'set a rule to off, warning or error, like lint.rules in tooldex.config.json',
      ),
    },
    examples: [
      'lint --tools ./tools',
      'lint --tools ./tools --format github',
      'lint --rule no-keywords=off',
    ],
    run: async (context) => {
      const { cwd, options } = context;
      const rules = await lintRulesFor(cwd, options.rule);
      const loaded = await loadRegistry(context, {
        everyone: true,
        resolve: noInstance,
        bundled: options.bundled ? 'only' : 'never',
      });
      try {
        const lines = await linesIn(loaded.fileOf.values(), cwd);
        const findings = [
          ...loaded.problems.map(notLoaded),
          ...lintLoaded(loaded, rules).map((each) => located(each, loaded, lines)),
        ];
        print(
          context,
          findings,
          () => findingLines(findings, loaded.registry.size, rules),
          () => findings.map((each) => annotationOf(cwd, each)),
        );
        return findings.length === 0 ? EXIT.ok : EXIT.findings;
      } finally {
        await loaded.close();
      }
    },
  }),
};

/** Lint reads metadata only, so classes that need arguments aren't instantiated. */
function noInstance(): never {
  throw new ToolError('NOT_EXECUTABLE', 'Lint runs no tools.');
}

/** Lints the tools. Each persona's tools are linted together with the shared tools. */
function lintLoaded({ registry, owned }: LoadedRegistry, rules: LintRules): readonly LintFinding[] {
  const tools = [...registry].map((entry) => ({
    entry,
    owner: owned.get(entry.name)?.persona ?? '',
    name: owned.get(entry.name)?.name ?? entry.name,
  }));
  const categories = registry.getAllCategories();
  const found = lintEach(tools, {
    knows: (name) => registry.has(name) || categories.has(normalizeLabel(name)),
    // A persona's tool replaces the shared tool with the same name.
    meet: (a, b) => a.name !== b.name && (a.owner === b.owner || a.owner === '' || b.owner === ''),
  });
  return withSeverities([...found.flat(), ...staleHints(registry)], rules);
}

/** Returns the lines on which the tools in manifests start, by file and name. */
async function linesIn(files: Iterable<string>, cwd: string): Promise<ReadonlyMap<string, number>> {
  const lines = new Map<string, number>();
  for (const file of new Set(files)) {
    if (!file.endsWith('.json')) continue;
    const { entries } = await loadManifest(resolve(cwd, file), { onInvalid: 'quarantine' });
    for (const { definition, line } of entries) lines.set(`${file} ${definition.name}`, line);
  }
  return lines;
}

function notLoaded(problem: LoadedRegistry['problems'][number]): Located {
  const { file, line = null, column = null, reason: message } = problem;
  return { rule: 'load-error', severity: 'error', toolName: '', message, file, line, column };
}

function located(
  finding: LintFinding,
  { fileOf, owned }: LoadedRegistry,
  lines: ReadonlyMap<string, number>,
): Located {
  const { toolName, message } = finding;
  const file = fileOf.get(toolName) ?? null;
  const name = owned.get(toolName)?.name ?? toolName;
  const line = lines.get(`${file} ${name}`);
  // Messages for authors of manifests contain the key names that manifests use.
  const said = line === undefined ? message : inManifestKeys(message);
  return { ...finding, message: said, file, line: line ?? null, column: null };
}

function annotationOf(cwd: string, finding: Located): string {
  const { severity, rule, toolName, message, file } = finding;
  // `file` can also be a pattern or a server.
  const isFile = file !== null && existsSync(resolve(cwd, file));
  const who = toolName || (isFile ? '' : file);
  return annotation(
    severity,
    rule,
    `${who ? `${who}: ` : ''}${plainLine(message)}`,
    isFile ? finding : {},
  );
}

/** Prints each finding once, followed by the tools that have it, and adds a summary. */
function* findingLines(
  findings: readonly Located[],
  size: number,
  rules: LintRules,
): Generator<string> {
  const disabled = Object.keys(rules).filter((name) => Reflect.get(rules, name) === 'off');
  const off = disabled.length === 0 ? '' : ` (off: ${disabled.join(', ')})`;
  const tools = amountOf(size, 'tool');
  if (findings.length === 0) {
    yield `${paint('green', '✓')} ${tools}, nothing to fix${off}`;
    return;
  }
  const groups = new Map<string, string[]>();
  for (const { severity, rule, message, toolName, ...place } of findings) {
    const text = toolName === '' ? `${placeText(place)}: ${message}` : message;
    const color = severity === 'error' ? 'red' : 'yellow';
    const line = `${paint(color, severity)} ${rule}: ${plainLine(text)}`;
    groups.set(line, [...(groups.get(line) ?? []), toolName]);
  }
  for (const [line, names] of groups) {
    yield line;
    if (names[0] !== '') yield `  ${plainLine(names.join(', '))}`;
  }
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  yield `\n${amountOf(errors, 'error')}, ${amountOf(findings.length - errors, 'warning')}; ${tools} checked${off}`;
}
