import { z } from 'zod';
import { fail, tool } from '../../src/index.js';
import { formatJson, notJson } from './formats/json-document.js';
import { MAX_TEXT } from './formats/limits.js';
import { DATA_TOOL } from './data-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/**
 * Maximum length of the text in characters. Indenting makes deeply nested text many times longer.
 */
const MAX_OUTPUT = 4 * MAX_TEXT;

const Input = z.object({
  json: z.string().max(MAX_TEXT).describe('JSON text'),
  style: z
    .enum(['pretty', 'minify'])
    .default('pretty')
    .describe('Indented lines, or a single line without whitespace'),
  indent: wholeNumber(2, 8).describe('Spaces per level in the pretty style'),
  sortKeys: z.boolean().default(false).describe('Sort the keys of all objects'),
});

/** Validates and reformats JSON. Numbers keep their spelling, and duplicate keys are kept. */
@tool({
  ...DATA_TOOL,
  name: 'json_format',
  description:
    'Validates JSON text and returns it pretty-printed or minified, with sorted keys if requested. Numbers keep their exact spelling. Invalid JSON fails with the line and column of the first error. At most 5 million characters and 200 levels.',
  inputSchema: Input,
  keywords: [
    'json',
    'format json',
    'pretty print',
    'minify',
    'validate json',
    'sort keys',
    'indent',
    'json error',
    'beautify',
  ],
  mandatoryKeywords: ['format json', 'validate json', 'minify json'],
  stages: ['analysis', 'execution', 'verification'],
  taskTypes: ['analysis', 'generation', 'edit'],
  examples: [
    'Pretty-print this JSON',
    'Is this valid JSON? Where is the error?',
    'Minify this JSON',
    'Sort the keys of this JSON object',
  ],
})
export class JsonFormat {
  execute({ json, style = 'pretty', indent = 2, sortKeys = false }: z.input<typeof Input>) {
    const problem = notJson(json);
    if (problem !== undefined) return problem;
    const text = formatJson(json, { indent: style === 'pretty' ? indent : 0, sortKeys });
    if (text.length > MAX_OUTPUT)
      return fail(
        `The indented text has ${text.length} characters, but at most ${MAX_OUTPUT} are allowed. Use the style "minify".`,
      );
    return { text };
  }
}
