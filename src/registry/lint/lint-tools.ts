import { invalidArgument, suggestNames } from '../../core/issues.js';
import type { Verdict } from '../../core/tool-event.js';
import { finish, type Work } from '../../core/clock.js';
import { splitWords, stem } from '../../search/words.js';
import { normalizeLabel } from '../../tool/metadata-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { isRegistry } from '../is-registry.js';
import type { ToolMetadataRegistry } from '../tool-metadata-registry.js';
import { LINT_RULES } from './lint-rules.js';
import { nearDuplicates } from './near-duplicates.js';

/** One thing to fix in a tool's metadata. */
export interface LintFinding {
  /** The name of the rule; it is stable, as CI settings may name it. */
  readonly rule: string;
  readonly severity: 'error' | 'warning';
  readonly toolName: string;
  readonly message: string;
}

/** The names of tools in a policy's rules and allow-list. */
interface NamedTools {
  readonly rules?: readonly { readonly name?: string; readonly verdict: Verdict; readonly tools?: string | readonly string[] }[];
  readonly allow?: readonly string[];
}

/**
 * Returns what to fix in the metadata of a registry's tools, in registration order, then by rule.
 *
 * @param policy the rules and allow-list of a `SafetyPolicy`, for findings also about the names in them that no tool has. The
 * policy itself accepts them, as tools may come later. A pattern with `*` may match nothing.
 */
export function lintTools(registry: ToolMetadataRegistry, policy: NamedTools = {}): readonly LintFinding[] {
  if (!isRegistry(registry)) throw invalidArgument('a ToolMetadataRegistry', registry, 'Register the tools in one first.');
  const categories = registry.getAllCategories();
  const tools = [...registry].map((entry) => ({ entry, owner: '' }));
  return Object.freeze(finish(lintEach(tools, { knows: (name) => registry.has(name) || categories.has(normalizeLabel(name)), meet: () => true })).flat().concat(unknownNames(registry, policy)));
}

function unknownNames(registry: ToolMetadataRegistry, { rules = [], allow = [] }: NamedTools): readonly LintFinding[] {
  const places = [
    ...rules.map(({ name, tools = [], verdict }, index) => ({ where: name === undefined ? `rule ${index + 1}` : `the rule ${JSON.stringify(name)}`, verdict, names: typeof tools === 'string' ? [tools] : tools })),
    { where: 'the allow-list', verdict: 'allow' as Verdict, names: allow },
  ];
  return places.flatMap(({ where, verdict, names }) =>
    names.flatMap((toolName) => {
      // A rule that allows matches no alias.
      const { name: own } = registry.get(toolName) ?? {};
      if (toolName.includes('*') || (verdict === 'allow' ? own === toolName : own !== undefined)) return [];
      const close = own ?? suggestNames(toolName, [...registry].map(({ name }) => name))[0];
      const what = own === undefined ? 'which no tool has' : 'an alias, and what allows goes by the own names of tools';
      return [Object.freeze({ rule: 'unknown-tool', severity: 'warning' as const, toolName, message: `${where} of the policy names ${JSON.stringify(toolName)}, ${what}${close === undefined ? '' : `; did you mean ${JSON.stringify(close)}?`}` })];
    }),
  );
}

/** A tool to be linted among others. */
export interface LintedTool {
  readonly entry: ToolEntry;
  /** The owner: the tool is compared with tools of the same owner, and with the shared ones (`''`). */
  readonly owner: string;
}

/** The questions of the rules about the other tools. */
export interface LintedAmong<Tool extends LintedTool> {
  /** Returns true if a text names a tool or a category beside the tool. */
  readonly knows: (name: string, tool: Tool) => boolean;
  /** Returns true if any persona sees both tools. */
  readonly meet: (earlier: Tool, later: Tool) => boolean;
}

/** Lints each of many tools; returns the findings of each, in their order. */
export function* lintEach<Tool extends LintedTool>(tools: readonly Tool[], { knows, meet }: LintedAmong<Tool>): Work<readonly (readonly LintFinding[])[]> {
  const texts: { stems: readonly string[]; owner: string }[] = [];
  for (const { entry, owner } of tools) {
    yield;
    texts.push({ stems: stemsOf(entry), owner });
  }
  const alike = yield* nearDuplicates(texts, (earlier, later) => meet(tools[earlier]!, tools[later]!));
  const findings: (readonly LintFinding[])[] = [];
  for (const [index, tool] of tools.entries()) {
    yield;
    const { entry } = tool;
    const others: LintFinding[] = [];
    for (const name of entry.invalidates) if (!knows(name, tool)) others.push(findingOf(entry, 'unknown-reference', 'warning', `invalidates ${JSON.stringify(name)}, which is neither a tool nor a category`));
    const earlier = alike.get(index);
    if (earlier !== undefined) others.push(findingOf(entry, 'near-duplicate-description', 'warning', `the description is nearly that of ${tools[earlier]!.entry.name}: a model cannot tell them apart`));
    findings.push(others.length === 0 ? ownFindings(entry) : [...ownFindings(entry), ...others]);
  }
  return findings;
}

/** The findings that do not depend on other tools: each entry is linted once. */
const known = new WeakMap<ToolEntry, readonly LintFinding[]>();

function ownFindings(entry: ToolEntry): readonly LintFinding[] {
  let findings = known.get(entry);
  if (findings === undefined) {
    findings = Object.entries(LINT_RULES).flatMap(([name, { severity, check }]) => [...check(entry)].map((message) => findingOf(entry, name, severity, message)));
    known.set(entry, findings);
  }
  return findings;
}

const stems = new WeakMap<ToolEntry, readonly string[]>();

/** The different stems of a description. */
function stemsOf(entry: ToolEntry): readonly string[] {
  let found = stems.get(entry);
  if (found === undefined) stems.set(entry, (found = [...new Set(splitWords(entry.description).map(({ whole }) => stem(whole)))]));
  return found;
}

function findingOf({ name: toolName }: ToolEntry, rule: string, severity: LintFinding['severity'], message: string): LintFinding {
  return Object.freeze({ rule, severity, toolName, message });
}
