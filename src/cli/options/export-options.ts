import { Option, type Command } from 'commander';
import { SCHEMA_LEVELS } from '../../tool/render/render-tool.js';
import { addFilterOptions, wholeNumber } from './filter-options.js';

export const EXPORT_TARGETS = Object.freeze(['openai', 'anthropic', 'gemini', 'mcp'] as const);
export const EXPORT_APIS = ['chat', 'responses'] as const;

/** Adds the options of `tooldex export` to its command. */
export function addExportOptions(command: Command): Command {
  return addFilterOptions(
    command
      .addOption(new Option('--to <target>', 'for whose interface').choices(EXPORT_TARGETS).makeOptionMandatory())
      .addOption(new Option('--api <api>', 'with --to openai: which of its two interfaces (default: chat)').choices(EXPORT_APIS))
      .addOption(new Option('--level <level>', 'how much of every tool is shown').choices(SCHEMA_LEVELS))
      .option('--strict', 'with --to openai: in strict mode where a tool allows it')
      .option('--select <request>', 'only the tools a model would see for this request, each at the level chosen for it')
      .option('--max <n>', 'with --select: at most so many tools', wholeNumber)
      .option('--budget <tokens>', 'with --select: what all tools together may cost the prompt', wholeNumber),
  );
}
