/** Prints the answers of a registry over a generated catalogue as JSON: what another process must print too. */
import { lintTools, ToolMetadataRegistry } from '../../src/index.js';
import { sample } from '../tool/sample-tools.js';

const WORDS = [
  'git',
  'diff',
  'test',
  'file',
  'search',
  'deploy',
  'query',
  'table',
  'cache',
  'branch',
];
const pick = <T>(values: readonly T[], index: number) => values[index % values.length]!;

const registry = new ToolMetadataRegistry({ now: () => 0 });
registry.registerAll(
  Array.from({ length: 200 }, (_, index) =>
    sample({
      name: `tool_${(index * 37) % 200}`,
      description: `Does ${pick(WORDS, index)} with ${pick(WORDS, index * 3 + 1)}`,
      aliases: [`alias_${index}`],
      category: pick(['vcs', 'Files', 'Ünïcode', 'web'], index),
      keywords: [pick(WORDS, index), `${pick(WORDS, index + 1)} ${pick(WORDS, index + 3)}`],
      mandatoryKeywords: index % 17 === 0 ? [pick(WORDS, index + 5)] : [],
      priority: pick([0, 1, 2, 3], index),
      accessMode: pick([undefined, 'readonly', 'write', 'execute'], index),
      stages: [pick(['reading', 'execution', 'own'], index)],
      taskTypes: [pick(['search', 'edit'], index)],
      metadata: { index },
    }),
  ),
);

const texts = [
  'git diff and tests',
  'search files',
  'gitDiff',
  'deploying a cached table',
  'nothing here',
  'ÜNÏCODE',
];
const answers = {
  entries: [...registry].map(({ name, digest }) => [name, digest]),
  scored: texts.map((text) => registry.getToolsMatchingTextScored(text)),
  mandatory: texts.map((text) => registry.getToolsMatchingMandatoryKeywords(text)),
  categories: texts.map((text) => registry.detectCategoriesFromText(text)),
  search: texts.map((text) => registry.search(text, { limit: 50 })),
  sets: [
    registry.getWriteTools(),
    registry.getConflictingTools('tool_1'),
    registry.getAllKeywords(),
    registry.getAllCategories(),
    registry.getCategoryKeywords('vcs'),
  ],
  summary: registry.summary(),
  metrics: registry.metrics,
  lint: lintTools(registry),
};
process.stdout.write(JSON.stringify(answers));
