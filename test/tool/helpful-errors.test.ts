import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/index.js';
import { refusal } from './sample-tools.js';

const least = { name: 'a', description: 'A', inputSchema: {} };
const messageOf = (act: () => unknown) => refusal(act).message;

describe('an error for wrong arguments', () => {
  it.each([
    [{ ...least, acessMode: 'readonly' }, 'Did you mean "accessMode"?'],
    [{ ...least, handler: () => 1 }, 'Did you mean "execute"?'],
    [{ ...least, readOnly: true }, 'Did you mean "accessMode"?'],
    [{ ...least, annotations: { readOnlyHint: true } }, 'Did you mean "accessMode"?'],
    [
      {
        ...least,
        inputSchema: { '~standard': { version: 1, vendor: 'valibot', validate: () => ({}) } },
      },
      'Wrap it in toStandardJsonSchema(…) from @valibot/to-json-schema.',
    ],
    [{ ...least, inputSchema: undefined }, 'z.object({}) if the tool takes no input'],
    [{ ...least, inputSchema: { city: z.string() } }, 'Wrap it in z.object({…})'],
    [{ ...least, inputSchema: { city: 'string' } }, 'none of its keywords (city)'],
    [
      { ...least, inputSchema: { properties: { a: { type: 'strng' } } } },
      'inputSchema.properties.a.type: Expected a type',
    ],
    [{ description: 'A', inputSchema: {} }, 'name: Expected a value (it is required)'],
  ])('wrong options (case %#) get an error with advice', (options, help) => {
    expect(messageOf(() => defineTool(options as never))).toContain(help);
  });
});
