import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineTool, type ToolDefinition } from '../../src/index.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

const REAL = resolve(import.meta.dirname, '../../../shared/data/victor-tools.json');

interface Row {
  readonly name: string;
  readonly active?: boolean;
  readonly description: string;
  readonly declared: Readonly<Record<string, never>> | null;
  readonly parameters?: Record<string, unknown>;
}

const OPTION_OF: Readonly<Record<string, string>> = {
  category: 'category',
  keywords: 'keywords',
  mandatory_keywords: 'mandatoryKeywords',
  stages: 'stages',
  task_types: 'taskTypes',
  examples: 'examples',
  signature_params: 'progressParams',
};
const PRIORITIES = ['critical', 'high', 'medium', 'low'];

/** The 64 tools of a real catalogue, if the data is available. */
export function realCatalogue(): ToolDefinition[] | undefined {
  if (!existsSync(REAL)) return undefined;
  const rows = (JSON.parse(readFileSync(REAL, 'utf8')) as Row[]).filter(({ active }) => active);
  return rows.map(({ name, description, declared, parameters }) => {
    const value = (key: string) =>
      (declared?.[key] as string | undefined)?.split('.').pop()?.toLowerCase();
    const access = value('access_mode');
    const priority = value('priority');
    const axes = {
      priority:
        priority === undefined
          ? undefined
          : Math.max(0, PRIORITIES.indexOf(priority === 'contextual' ? 'low' : priority)),
      accessMode: access === 'network' ? 'mixed' : access,
      dangerLevel: value('danger_level'),
      executionCategory: value('execution_category'),
      costTier: value('cost_tier'),
    };
    const others = Object.fromEntries(
      Object.entries(OPTION_OF).flatMap(([from, to]) =>
        declared?.[from] === undefined ? [] : [[to, declared[from]]],
      ),
    );
    return defineTool({
      name,
      description: description || name,
      inputSchema: parameters ?? {},
      ...axes,
      ...others,
    } as never);
  });
}

const pick = <T>(values: readonly T[], index: number): T => values[index % values.length]!;

/**
 * Returns `count` generated tools, spread over every axis. Each has five keywords that no other tool
 * has.
 */
export function madeUpCatalogue(count: number): ToolDefinition[] {
  return Array.from({ length: count }, (_, index) =>
    definitionOf({
      name: `tool_${index}`,
      description: `Does the work number ${index} on a thing of kind ${index % 97}`,
      inputSchema: {},
      priority: pick([0, 1, 2, 3] as const, index),
      accessMode: pick(['readonly', 'write', 'execute', 'mixed'] as const, index),
      dangerLevel: pick(['safe', 'low', 'medium', 'high', 'critical'] as const, index),
      category: `category ${index % 29}`,
      keywords: Array.from({ length: 5 }, (__, each) => `word${index}x${each}`),
      stages: [pick(['initial', 'reading', 'analysis', 'execution'], index)],
    }),
  );
}
