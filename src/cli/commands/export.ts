import { ToolError } from '../../core/errors.js';
import { toAnthropicTools } from '../../interop/export/to-anthropic-tools.js';
import { toGeminiTools } from '../../interop/export/to-gemini-tools.js';
import { toMcpTools } from '../../interop/export/to-mcp-tools.js';
import { toOpenAITools } from '../../interop/export/to-openai-tools.js';
import type { ExportInput } from '../../interop/export/export-input.js';
import { selectTools } from '../../selection/select-tools.js';
import type { SchemaLevel } from '../../tool/render/render-tool.js';
import type { EXPORT_APIS, EXPORT_TARGETS } from '../options/export-options.js';
import { filterOf } from '../options/filter-options.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import type { Terminal } from '../terminal.js';

/** Prints tools as JSON for a model API or for MCP; returns 1 when a selection cannot be held to its limits. */
export function exportTools(terminal: Terminal, { registry }: LoadedRegistry, options: Readonly<Record<string, unknown>>): number {
  const { to, api, level, strict, select, max, budget } = options as unknown as ExportCommandOptions;
  const misplaced = [...(to === 'openai' ? [] : given({ api, strict }, '--to openai')), ...(select === undefined ? given({ max, budget }, '--select') : [])];
  if (misplaced.length > 0) throw new ToolError('INVALID_ARGUMENT', misplaced.join('; '));

  const filter = filterOf(options);
  const selection = select === undefined ? undefined : selectTools(registry, { text: select, filter, ...(max === undefined ? {} : { maxTools: max }), ...(budget === undefined ? {} : { tokenBudget: budget }) });
  const input: ExportInput = selection ?? registry.filter(filter);
  terminal.out(JSON.stringify(converted(input, { to, api, level, strict }), null, 2));
  if (selection?.error === undefined) return 0;
  terminal.err(`error ${selection.error.message}`);
  return 1;
}

interface ExportCommandOptions {
  readonly to: (typeof EXPORT_TARGETS)[number];
  readonly api: (typeof EXPORT_APIS)[number] | undefined;
  readonly level: SchemaLevel | undefined;
  readonly strict: boolean | undefined;
  readonly select: string | undefined;
  readonly max: number | undefined;
  readonly budget: number | undefined;
}

function given(options: Readonly<Record<string, unknown>>, only: string): string[] {
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}: expected only with ${only}`]));
}

function converted(input: ExportInput, { to, api, level, strict = false }: Pick<ExportCommandOptions, 'to' | 'api' | 'level' | 'strict'>): unknown {
  switch (to) {
    case 'openai':
      return api === 'responses' ? toOpenAITools(input, { level, api, strict }) : toOpenAITools(input, { level, strict });
    case 'anthropic':
      return toAnthropicTools(input, { level });
    case 'gemini':
      return toGeminiTools(input, { level });
    case 'mcp':
      return { tools: toMcpTools(input, { level }) };
  }
}
