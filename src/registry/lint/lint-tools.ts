import { z } from 'zod';
import { invalidArgument, suggestNames } from '../../core/issues.js';
import { LIMITS } from '../../core/limits.js';
import { checkOptions, once, type FieldsOf } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { Verdict } from '../../core/tool-event.js';
import { lookOf } from '../../core/visible-text.js';
import { splitWords, stem } from '../../search/words.js';
import { AXIS_NAMES } from '../../tool/axes.js';
import { normalizeLabel } from '../../tool/metadata-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { isRegistry } from '../is-registry.js';
import type { ToolMetadataRegistry } from '../tool-metadata-registry.js';
import { CATALOGUE_RULES, LINT_RULES, type LintRuleName, type LintSeverity } from './lint-rules.js';
import { nearDuplicates } from './near-duplicates.js';

/** A problem in a tool's metadata. */
export interface LintFinding {
  /** The name of the rule. Rule names are stable, so CI settings can rely on them. */
  readonly rule: string;
  readonly severity: 'error' | 'warning';
  readonly toolName: string;
  readonly message: string;
  /**
   * The location of the problem: a JSON pointer into the tool, and the index of the character in
   * the text at that pointer (in UTF-16 code units, from 0).
   */
  readonly place?: { readonly path: string; readonly offset: number };
}

/** The tool names in a policy's rules and allowlist. */
interface NamedTools {
  readonly rules?: readonly {
    readonly name?: string;
    readonly verdict: Verdict;
    readonly tools?: string | readonly string[];
  }[];
  readonly allow?: readonly string[];
}

/** The options of `lintTools`. */
interface LintOptions {
  /** The severity of each rule, or `'off'`. @default each rule's own severity */
  readonly rules?: Readonly<Partial<Record<LintRuleName, 'off' | 'error' | 'warning'>>>;
  /**
   * The rules and allowlist of a `SafetyPolicy`. Also reports names that match no tool. The policy
   * itself accepts unknown names, because tools can be registered later. Patterns with `*` aren't
   * reported. @default none
   */
  readonly policy?: NamedTools;
}

export type LintRules = NonNullable<LintOptions['rules']>;

const RULE_NAMES: readonly string[] = [...Object.keys(CATALOGUE_RULES), ...Object.keys(LINT_RULES)];

/** Returns the schema of the `rules` option. */
export const lintRulesField = () =>
  z
    .strictObject(
      Object.fromEntries(
        RULE_NAMES.map((name) => [name, z.enum(['off', 'warning', 'error']).optional()]),
      ),
    )
    .default({});

const optionsSchema = once(() =>
  z.strictObject({
    rules: lintRulesField(),
    policy: z
      .custom<NamedTools>(isPlainObject, "a policy's options, as { rules, allow }")
      .optional(),
  } satisfies FieldsOf<LintOptions>),
);

/**
 * Validates the options. @throws ToolError `INVALID_ARGUMENT`, with a suggestion for a misspelled
 * rule.
 */
export function checkLintOptions(
  options: unknown,
): Readonly<z.output<ReturnType<typeof optionsSchema>>> {
  return checkOptions(optionsSchema, options, 'options of lint');
}

/**
 * Returns the problems in the metadata of a registry's tools, in registration order, then by rule.
 *
 * @param options The severities of rules, and a policy whose tool names are checked. You can also
 * pass the policy's options directly.
 * @throws ToolError `INVALID_ARGUMENT` for an unknown rule.
 */
export function lintTools(
  registry: ToolMetadataRegistry,
  options: LintOptions | NamedTools = {},
): readonly LintFinding[] {
  if (!isRegistry(registry))
    throw invalidArgument(
      'a ToolMetadataRegistry',
      registry,
      'Register the tools in a registry first.',
    );
  const { rules, policy = {} } = isPolicy(options)
    ? { rules: {}, policy: options }
    : checkLintOptions(options);
  const categories = registry.getAllCategories();
  const tools = [...registry].map((entry) => ({ entry, owner: '' }));
  const found = lintEach(tools, {
    knows: (name) => registry.has(name) || categories.has(normalizeLabel(name)),
    meet: () => true,
  }).flat();
  return Object.freeze(
    withSeverities([...found, ...unknownNames(registry, policy), ...staleHints(registry)], rules),
  );
}

/**
 * Returns true for a policy's options. In lint options, `rules` is an object of severities instead
 * of a list.
 */
function isPolicy(options: LintOptions | NamedTools): options is NamedTools {
  return (
    isPlainObject(options) && (Array.isArray(options['rules']) || Object.hasOwn(options, 'allow'))
  );
}

/** Removes the findings of disabled rules, and applies the configured severities. */
export function withSeverities(
  findings: readonly LintFinding[],
  rules: Readonly<Record<string, 'off' | LintSeverity | undefined>>,
): readonly LintFinding[] {
  return findings.flatMap((finding) => {
    const severity = rules[finding.rule] ?? finding.severity;
    if (severity === 'off') return [];
    return [severity === finding.severity ? finding : Object.freeze({ ...finding, severity })];
  });
}

function unknownNames(
  registry: ToolMetadataRegistry,
  { rules = [], allow = [] }: NamedTools,
): readonly LintFinding[] {
  const places = [
    ...rules.map(({ name, tools = [], verdict }, index) => ({
      where: name === undefined ? `rule ${index + 1}` : `the rule ${JSON.stringify(name)}`,
      verdict,
      names: typeof tools === 'string' ? [tools] : tools,
    })),
    { where: 'the allowlist', verdict: 'allow' as Verdict, names: allow },
  ];
  return places.flatMap(({ where, verdict, names }) =>
    names.flatMap((toolName) => {
      // Rules that allow calls don't match aliases.
      const { name: own } = registry.get(toolName) ?? {};
      if (toolName.includes('*') || (verdict === 'allow' ? own === toolName : own !== undefined))
        return [];
      const close =
        own ??
        suggestNames(
          toolName,
          [...registry].map(({ name }) => name),
        )[0];
      const what =
        own === undefined
          ? "which doesn't match any tool"
          : "an alias, but rules that allow calls match only the tools' own names";
      return [
        Object.freeze({
          rule: 'unknown-tool',
          severity: CATALOGUE_RULES['unknown-tool'],
          toolName,
          message: `${where} of the policy names ${JSON.stringify(toolName)}, ${what}${close === undefined ? '' : `; did you mean ${JSON.stringify(close)}?`}`,
        }),
      ];
    }),
  );
}

/** Returns a finding for each tool whose hints were written for an earlier version of its text. */
export function staleHints(registry: ToolMetadataRegistry): readonly LintFinding[] {
  return [...registry.getToolsWithStaleHints()].map((toolName) =>
    Object.freeze({
      rule: 'stale-hints',
      severity: CATALOGUE_RULES['stale-hints'],
      toolName,
      message:
        "its hints were written for an earlier version of its text and aren't used: write them again with tooldex enrich, or remove them",
    }),
  );
}

/** A tool to lint in the context of other tools. */
interface LintedTool {
  readonly entry: ToolEntry;
  /**
   * The tool's owner. The tool is compared with the same owner's tools and with shared tools
   * (`''`).
   */
  readonly owner: string;
}

/** The information about other tools that the rules need. */
interface LintedAmong<Tool extends LintedTool> {
  /** Returns true if a tool or category has this name and can appear together with the tool. */
  readonly knows: (name: string, tool: Tool) => boolean;
  /** Returns true if at least one persona can see both tools. */
  readonly meet: (earlier: Tool, later: Tool) => boolean;
}

/**
 * The maximum number of look-alike names to compare, because tools of many personas can share one
 * name.
 */
const MOST_ALIKE = 32;

/** Lints several tools. Returns one list of findings per tool, in the same order. */
export function lintEach<Tool extends LintedTool>(
  tools: readonly Tool[],
  { knows, meet }: LintedAmong<Tool>,
): readonly (readonly LintFinding[])[] {
  const alike = nearDuplicates(
    tools.map(({ entry }) => stemsOf(entry)),
    (earlier, later) => meet(tools[earlier]!, tools[later]!),
  );
  const usual = {
    category: isUsual(tools, ({ category }) => category !== undefined),
    keywords: isUsual(tools, ({ keywords }) => keywords.length > 0),
  };
  // If no tool declares flows, the program doesn't use flows.
  const flows = tools.some(
    ({ entry: { inferred } }) => !inferred.includes('reads') || !inferred.includes('sends'),
  );
  const findings: (readonly LintFinding[])[] = [];
  const looks = new Map<string, Tool[]>();
  for (const [index, tool] of tools.entries()) {
    const { entry } = tool;
    const others: LintFinding[] = [];
    const say = (rule: keyof typeof CATALOGUE_RULES, message: string) =>
      others.push(findingOf(entry, rule, CATALOGUE_RULES[rule], message));
    const bare = isBare(entry);
    if (bare || (usual.category && entry.category === undefined))
      say('missing-metadata', bare ? 'declare category, priority, costTier' : 'declare category');
    if (entry.keywords.length === 0 && (bare || usual.keywords))
      say(
        'no-keywords',
        'declare keywords: words that are likely to appear in requests for this tool',
      );
    for (const name of entry.invalidates)
      if (!knows(name, tool))
        say(
          'unknown-reference',
          `invalidates ${JSON.stringify(name)}, which is neither a tool nor a category`,
        );
    if (flows && saysNoFlow(entry))
      say(
        'undeclared-flow',
        `declare reads and sends, as other tools here do: inferred as ${entry.reads.join(', ')} and ${entry.sends}, the strict default`,
      );
    const earlier = alike.get(index);
    if (earlier !== undefined)
      say(
        'near-duplicate-description',
        `the description is almost the same as that of ${tools[earlier]!.entry.name}: a model can't tell the tools apart`,
      );
    const look = lookOf(entry.name);
    const alikes = looks.get(look) ?? [];
    const twin = alikes.find((other) => other.entry.name !== entry.name && meet(other, tool));
    if (twin !== undefined)
      say(
        'look-alike',
        `its name looks like ${twin.entry.name}: models and users can mistake one for the other`,
      );
    if (alikes.length < MOST_ALIKE) looks.set(look, [...alikes, tool]);
    findings.push(others.length === 0 ? ownFindings(entry) : [...others, ...ownFindings(entry)]);
  }
  return findings;
}

/** Returns true if it's unknown what a tool reads and where it sends data. */
function saysNoFlow({ inferred, reads }: ToolEntry): boolean {
  return inferred.includes('reads') && inferred.includes('sends') && reads.length > 0;
}

/** Returns true if the author declared only the required options. */
function isBare({ category, keywords, sideEffects, inferred }: ToolEntry): boolean {
  return (
    category === undefined &&
    keywords.length === 0 &&
    sideEffects.length === 0 &&
    AXIS_NAMES.every((axis) => inferred.includes(axis))
  );
}

/**
 * Returns true if most tools have a value, so that a tool without a value is hard to find. There
 * must be more tools than a model sees at once, and at least three quarters of the tools must have
 * a value.
 */
function isUsual(tools: readonly LintedTool[], has: (entry: ToolEntry) => boolean): boolean {
  return (
    tools.length > LIMITS.selectedTools &&
    4 * tools.filter(({ entry }) => has(entry)).length >= 3 * tools.length
  );
}

/** Findings that don't depend on other tools, cached so that each entry is linted only once. */
const cache = new WeakMap<ToolEntry, readonly LintFinding[]>();

function ownFindings(entry: ToolEntry): readonly LintFinding[] {
  let findings = cache.get(entry);
  if (findings === undefined) {
    findings = Object.entries(LINT_RULES).flatMap(([name, rule]) =>
      [...rule.check(entry)].map((said) =>
        typeof said === 'string'
          ? findingOf(entry, name, rule.severity, said)
          : findingOf(entry, name, rule.severity, said.message, {
              path: said.path,
              offset: said.offset,
            }),
      ),
    );
    cache.set(entry, findings);
  }
  return findings;
}

/** Returns the distinct word stems in a description. */
function stemsOf({ description }: ToolEntry): ReadonlySet<string> {
  return new Set(splitWords(description).map(({ whole }) => stem(whole)));
}

function findingOf(
  { name: toolName }: ToolEntry,
  rule: string,
  severity: LintFinding['severity'],
  message: string,
  place?: LintFinding['place'],
): LintFinding {
  return Object.freeze({
    rule,
    severity,
    toolName,
    message,
    ...(place === undefined ? {} : { place: Object.freeze(place) }),
  });
}
