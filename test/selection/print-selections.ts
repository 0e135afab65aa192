/**
 * Prints selections from a generated catalogue over several turns, and the answers of the tool search.
 * Other processes must print the same text.
 */
import {
  createToolSearchTool,
  selectTools,
  ToolMetadataRegistry,
  type Selection,
} from '../../src/index.js';
import { sample } from '../tool/sample-tools.js';
import { asText, long } from './selection-cases.js';

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
  'Ünïcode',
];
const pick = <T>(values: readonly T[], index: number) => values[index % values.length]!;

const registry = new ToolMetadataRegistry();
registry.registerAll(
  Array.from({ length: 150 }, (_, index) =>
    sample(
      long(`tool_${(index * 37) % 150}`, {
        description: `Does ${pick(WORDS, index)} with ${pick(WORDS, index * 3 + 1)}. ${'And more. '.repeat(index % 30)}`,
        keywords: [pick(WORDS, index)],
        mandatoryKeywords: index % 40 === 0 ? [pick(WORDS, index + 5)] : [],
        priority: index % 60 === 0 ? 0 : pick([1, 2, 3], index),
        stages: [pick(['reading', 'execution'], index)],
      }),
    ),
  ),
);

const printed: string[] = [];
let previous: Selection | undefined;
for (const [turn, text] of [
  'show the git diff',
  'deploy the tests',
  'search files',
  'nothing here',
  'ÜNÏCODE tabel cahce',
].entries()) {
  const request = {
    text,
    maxTools: 8 + turn,
    tokenBudget: 700 + 100 * turn,
    stage: pick(['reading', 'execution'], turn),
    maxDanger: 'high',
  } as const;
  const selection: Selection = selectTools(
    registry,
    previous === undefined ? request : { ...request, previous },
  );
  printed.push(asText(selection), asText(selectTools(registry, request)));
  previous = selection;
}
const search = createToolSearchTool(registry, { exclude: ['tool_1'] });
printed.push(
  JSON.stringify(await search.execute!({ query: 'git diff', names: ['tool_2', 'tool_1'] }, {})),
);
process.stdout.write(printed.join('\n'));
