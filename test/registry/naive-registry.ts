import { DangerLevel, type ToolEntry, type ToolMetadataRegistry } from '../../src/index.js';
import { splitWords, stem } from '../../src/search/words.js';
import { ALIASES, CATEGORIES, KEYWORDS, NAMES, STAGES, TASK_TYPES } from './arbitrary-tools.js';

/** Requests that match some of the tools in `arbitrary-tools`. */
export const TEXTS = [
  '',
  'git diff',
  'run the tests',
  'running tests with ls',
  'gitDiff in C++',
  'latest constructor',
  '🔥',
] as const;

const low = (label: string) => label.trim().toLowerCase();
const sorted = (values: Iterable<string>) =>
  [...new Set(values)].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
const changes = ({ accessMode }: ToolEntry) => accessMode !== 'readonly';
const dangerous = ({ dangerLevel }: ToolEntry) =>
  dangerLevel === 'high' || dangerLevel === 'critical';
const together = ({ accessMode, executionCategory }: ToolEntry) =>
  accessMode === 'readonly' && ['read_only', 'compute', 'network'].includes(executionCategory);
const alone = ({ accessMode, executionCategory }: ToolEntry) =>
  accessMode === 'mixed' || executionCategory === 'mixed';
const twice = <T>(value: T) => [value, value];
export const available = (entry: ToolEntry) => {
  try {
    return entry.available === undefined || entry.available() === true;
  } catch {
    return false;
  }
};

const requiresApproval = (entry: ToolEntry) =>
  changes(entry) || dangerous(entry) || entry.requiresConsent;

/** The rules of the derived sets. */
export const DERIVED = {
  write: changes,
  idempotent: (entry: ToolEntry) => !changes(entry),
  parallelizable: together,
  dangerous,
  requiringApproval: requiresApproval,
  cacheInvalidating: changes,
  critical: ({ priority }: ToolEntry) => priority === 0,
};

/** Returns true if two tools can't run at the same time. */
export function conflict(a: ToolEntry, b: ToolEntry): boolean {
  return alone(a) || alone(b) || (!together(a) && !together(b));
}

/** Returns the keywords in a text by comparing each keyword with every position. */
export function keywordsIn(
  keywords: readonly string[],
  text: string,
  vocabulary: readonly string[],
): string[] {
  const formOf = (keyword: string) => splitWords(keyword).map(({ whole }) => stem(whole));
  const known = new Set(vocabulary.map((keyword) => formOf(keyword).join(' ')));
  const words = splitWords(text);
  const readings = [
    words.map(({ whole }) => stem(whole)),
    words.flatMap(({ whole, parts }) => (known.has(stem(whole)) ? [stem(whole)] : parts.map(stem))),
  ];
  return keywords.filter((keyword) => {
    const form = formOf(keyword);
    return (
      form.length > 0 &&
      readings.some((stems) =>
        stems.some((_, start) => form.every((each, offset) => stems[start + offset] === each)),
      )
    );
  });
}

/** Returns the tool with a name or alias. A tool's own name comes first, then the latest alias. */
export function resolveNaively(entries: readonly ToolEntry[], name: string): ToolEntry | undefined {
  return (
    entries.find((entry) => entry.name === name) ??
    entries.findLast((entry) => entry.aliases.includes(name))
  );
}

/** Returns the answers to all queries of these tests, as plain data. */
export function answersOf(registry: ToolMetadataRegistry): Record<string, unknown> {
  const names = (entries: Iterable<ToolEntry>) => [...entries].map(({ name }) => name);
  const each = <T extends string | number>(values: readonly T[], ask: (value: T) => unknown) =>
    values.map((value) => [value, ask(value)]);
  return {
    size: registry.size,
    all: names(registry),
    resolve: each([...NAMES, ...ALIASES, 'nobody'], (name) => [
      registry.get(name)?.name,
      registry.has(name),
      registry.isAvailable(name),
    ]),
    priority: each([0, 1, 2, 3] as const, (value) => names(registry.getByPriority(value))),
    accessMode: each(['readonly', 'write', 'execute', 'mixed'] as const, (value) =>
      names(registry.getByAccessMode(value)),
    ),
    dangerLevel: each(Object.values(DangerLevel), (value) =>
      names(registry.getByDangerLevel(value)),
    ),
    executionCategory: each(
      ['read_only', 'write', 'execute', 'compute', 'network', 'mixed'] as const,
      (value) => names(registry.getByExecutionCategory(value)),
    ),
    costTier: each(['free', 'low', 'medium', 'high'] as const, (value) =>
      names(registry.getByCostTier(value)),
    ),
    category: each([...CATEGORIES, 'none'], (value) => names(registry.getByCategory(value))),
    keyword: each([...KEYWORDS, 'none'], (value) => names(registry.getByKeyword(value))),
    stage: each([...STAGES, 'none'], (value) => [
      names(registry.getByStage(value)),
      [...registry.getToolsByStage(value)],
    ]),
    taskType: each([...TASK_TYPES, 'none'], (value) => [
      names(registry.getByTaskType(value)),
      [...registry.getToolsByTaskType(value)],
    ]),
    derived: [
      registry.getWriteTools(),
      registry.getIdempotentTools(),
      registry.getParallelizableTools(),
      registry.getDangerousTools(),
      registry.getToolsRequiringApproval(),
      registry.getCacheInvalidatingTools(),
      registry.getCriticalTools(),
    ].map((set) => [...set]),
    conflicting: each(NAMES, (name) => sorted(registry.getConflictingTools(name))),
    vocabulary: [
      registry.getAllCategories(),
      registry.getAllStages(),
      registry.getAllTaskTypes(),
      registry.getAllKeywords(),
    ].map((set) => [...set]),
    categoryKeywords: each(CATEGORIES, (category) => [...registry.getCategoryKeywords(category)]),
    matched: each(TEXTS, (text) =>
      registry
        .getToolsMatchingTextScored(text)
        .map(({ toolName, matchedKeywords }) => [toolName, sorted(matchedKeywords)]),
    ),
    mandatory: each(TEXTS, (text) => [...registry.getToolsMatchingMandatoryKeywords(text)]),
    detected: each(TEXTS, (text) => [...registry.detectCategoriesFromText(text)]),
  };
}

/** Returns the same answers, computed from the entries in registration order. */
export function naiveAnswers(entries: readonly ToolEntry[]): Record<string, unknown> {
  const names = (test: (entry: ToolEntry) => boolean) =>
    entries.filter(test).map(({ name }) => name);
  const each = <T extends string | number>(values: readonly T[], ask: (value: T) => unknown) =>
    values.map((value) => [value, ask(value)]);
  const vocabulary = entries.flatMap(({ keywords }) => keywords);
  const mandatory = entries.flatMap(({ mandatoryKeywords }) => mandatoryKeywords);
  const boost = [0.3, 0.2, 0.1, 0.05];
  const scored = (text: string) =>
    entries
      .map((entry) => ({ entry, found: keywordsIn(entry.keywords, text, vocabulary) }))
      .filter(({ found }) => found.length > 0)
      .map(({ entry, found }) => ({
        entry,
        found,
        score:
          found.length / entry.keywords.length +
          Math.min(found.join('').length / (found.length * 10), 0.2) +
          boost[entry.priority]!,
      }))
      .sort(
        (a, b) =>
          b.score - a.score ||
          a.entry.priority - b.entry.priority ||
          (a.entry.name < b.entry.name ? -1 : 1),
      );
  const inCategory = (value: string) => (entry: ToolEntry) => entry.category === low(value);
  return {
    size: entries.length,
    all: names(() => true),
    resolve: each([...NAMES, ...ALIASES, 'nobody'], (name) => {
      const entry = resolveNaively(entries, name);
      return [entry?.name, entry !== undefined, entry !== undefined && available(entry)];
    }),
    priority: each([0, 1, 2, 3], (value) => names(({ priority }) => priority === value)),
    accessMode: each(['readonly', 'write', 'execute', 'mixed'], (value) =>
      names(({ accessMode }) => accessMode === value),
    ),
    dangerLevel: each(Object.values(DangerLevel), (value) =>
      names(({ dangerLevel }) => dangerLevel === value),
    ),
    executionCategory: each(
      ['read_only', 'write', 'execute', 'compute', 'network', 'mixed'],
      (value) => names(({ executionCategory }) => executionCategory === value),
    ),
    costTier: each(['free', 'low', 'medium', 'high'], (value) =>
      names(({ costTier }) => costTier === value),
    ),
    category: each([...CATEGORIES, 'none'], (value) => names(inCategory(value))),
    keyword: each([...KEYWORDS, 'none'], (value) =>
      names(({ keywords }) => keywords.includes(low(value))),
    ),
    stage: each([...STAGES, 'none'], (value) =>
      twice(names(({ stages }) => stages.includes(low(value)))),
    ),
    taskType: each([...TASK_TYPES, 'none'], (value) =>
      twice(names(({ taskTypes }) => taskTypes.includes(low(value)))),
    ),
    derived: Object.values(DERIVED).map(names),
    conflicting: each(NAMES, (name) => {
      const entry = resolveNaively(entries, name);
      return sorted(
        entry === undefined
          ? names(() => true)
          : names((other) => other !== entry && conflict(entry, other)),
      );
    }),
    vocabulary: [
      entries.flatMap(({ category }) => category ?? []),
      entries.flatMap(({ stages }) => stages),
      entries.flatMap(({ taskTypes }) => taskTypes),
      vocabulary,
    ].map(sorted),
    categoryKeywords: each(CATEGORIES, (value) =>
      sorted(entries.filter(inCategory(value)).flatMap(({ keywords }) => keywords)),
    ),
    matched: each(TEXTS, (text) =>
      scored(text).map(({ entry, found }) => [entry.name, sorted(found)]),
    ),
    mandatory: each(TEXTS, (text) =>
      sorted(
        names(({ mandatoryKeywords }) => keywordsIn(mandatoryKeywords, text, mandatory).length > 0),
      ),
    ),
    detected: each(TEXTS, (text) =>
      sorted(scored(text).flatMap(({ entry }) => entry.category ?? [])),
    ),
  };
}
