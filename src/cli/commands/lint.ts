import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { inManifestKeys } from '../../capability/manifest/define-entry.js';
import { loadManifest } from '../../capability/manifest/load-manifest.js';
import {
  lintEach,
  lintTools,
  withSeverities,
  type LintFinding,
  type LintRules,
} from '../../registry/lint/lint-tools.js';
import { normalizeLabel } from '../../tool/metadata-schema.js';
import { command, print } from '../command/command.js';
import { lintRulesFor } from '../load/lint-settings.js';
import { loadRegistry } from '../load/load-registry.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import { FORMAT_OPTIONS, formatOf, list, TOOL_OPTIONS } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, table } from '../terminal/table.js';
import {
  annotation,
  paint,
  placeText,
  plainLine,
  type FindingPlace,
  type Terminal,
} from '../terminal/terminal.js';

type Located = LintFinding & FindingPlace;

export const lint = command({
  options: {
    ...TOOL_OPTIONS,
    ...FORMAT_OPTIONS,
    rule: list(
      '<name=severity>',
      'set a rule to off, warning or error, as lint.rules in tooldex.config.json does',
    ),
  },
  examples: ['lint', 'lint --tools ./tools --format github', 'lint --rule no-keywords=off'],
  run: async (context) => {
    const { terminal, cwd, options } = context;
    const format = formatOf(options);
    const rules = await lintRulesFor(cwd, options.rule);
    const loaded = await loadRegistry(context, { everyone: true });
    try {
      const findings = await locatedFindings(cwd, loaded, rules);
      if (format === 'github') for (const each of findings) terminal.out(annotationOf(cwd, each));
      else
        print({ terminal, options: { json: format === 'json' } }, findings, () =>
          findingLines(terminal, findings, loaded, rules),
        );
      return findings.length === 0 ? EXIT.ok : EXIT.findings;
    } finally {
      await loaded.close?.();
    }
  },
});

/** Lints the tools, those of each persona together with the shared ones. */
function lintLoaded({ registry, owned }: LoadedRegistry, rules: LintRules): readonly LintFinding[] {
  if (owned === undefined || owned.size === 0) return lintTools(registry, { rules });
  const tools = [...registry].map((entry) => ({
    entry,
    owner: owned.get(entry.name)?.persona ?? '',
    name: owned.get(entry.name)?.name ?? entry.name,
  }));
  const categories = registry.getAllCategories();
  const found = lintEach(tools, {
    knows: (name) => registry.has(name) || categories.has(normalizeLabel(name)),
    // A persona's tool replaces the shared tool of the same name.
    meet: (a, b) => a.name !== b.name && (a.owner === b.owner || a.owner === '' || b.owner === ''),
  });
  return withSeverities(found.flat(), rules);
}

const isManifest = (file: string | null | undefined) => file?.endsWith('.json') === true;

/** Returns what didn't load and what lint found, each with its place. */
async function locatedFindings(
  cwd: string,
  loaded: LoadedRegistry,
  rules: LintRules,
): Promise<readonly Located[]> {
  const { problems, fileOf, owned } = loaded;
  const found = lintLoaded(loaded, rules);
  const files = new Set(found.flatMap(({ toolName }) => fileOf.get(toolName) ?? []));
  /** The lines where the tools of manifests begin, by file and name. */
  const lines = new Map<string, number>();
  for (const file of [...files].filter(isManifest)) {
    const { entries } = await loadManifest(resolve(cwd, file), { onInvalid: 'quarantine' });
    for (const { definition, line } of entries) lines.set(`${file} ${definition.name}`, line);
  }
  return [
    ...problems.map(({ file, line = null, column = null, reason }): Located => ({
      rule: 'load-error',
      severity: 'error',
      toolName: '',
      message: reason,
      file,
      line,
      column,
    })),
    ...found.map((finding): Located => {
      const file = fileOf.get(finding.toolName) ?? null;
      const name = owned?.get(finding.toolName)?.name ?? finding.toolName;
      // Authors of manifests read their own keys.
      const message = isManifest(file) ? inManifestKeys(finding.message) : finding.message;
      return {
        ...finding,
        message,
        file,
        line: lines.get(`${file} ${name}`) ?? null,
        column: null,
      };
    }),
  ];
}

function annotationOf(cwd: string, finding: Located): string {
  const { severity, rule, toolName, message, file } = finding;
  // The place of a problem may be a pattern or a server.
  const isFile = file !== null && existsSync(resolve(cwd, file));
  const who = [toolName, isFile ? '' : (file ?? '')].find((each) => each !== '');
  const text = `${who === undefined ? '' : `${who}: `}${plainLine(message)}`;
  return annotation(severity, rule, text, isFile ? finding : undefined);
}

function* findingLines(
  terminal: Terminal,
  findings: readonly Located[],
  { registry }: LoadedRegistry,
  rules: LintRules,
): Generator<string> {
  const disabled = Object.entries(rules).flatMap(([name, rule]) => (rule === 'off' ? [name] : []));
  const off = disabled.length === 0 ? '' : ` (off: ${disabled.join(', ')})`;
  const tools = amountOf(registry.size, 'tool');
  if (findings.length === 0) {
    yield `${paint(terminal, 'green', '✓')} ${tools}, nothing to fix${off}`;
    return;
  }
  const placeOf = (finding: Located) => placeText({ ...finding, file: finding.file ?? '' });
  const groups = new Map<string, [Located, ...Located[]]>();
  for (const finding of findings) {
    const { severity, rule, message, toolName } = finding;
    const key = [severity, rule, message, toolName === '' ? placeOf(finding) : ''].join('\n');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [finding]);
    else group.push(finding);
  }
  yield table(
    terminal,
    [...groups.values()].map((group) => {
      const [first] = group;
      const { severity, rule, toolName, message } = first;
      const names = group.map((each) => each.toolName).join(', ');
      return {
        SEVERITY: [severity, severity === 'error' ? 'red' : 'yellow'],
        RULE: rule,
        TOOL: [group.length > 1 ? `${group.length} tools` : toolName || '–', 'bold'],
        MESSAGE:
          toolName === ''
            ? `${placeOf(first)}: ${message}`
            : `${message}${group.length > 1 ? ` – ${names}` : ''}`,
      };
    }),
  );
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const grouped = groups.size === findings.length ? '' : ` in ${amountOf(groups.size, 'group')}`;
  yield `\n${amountOf(errors, 'error')}, ${amountOf(findings.length - errors, 'warning')}${grouped}; ${tools} checked${off}`;
}
