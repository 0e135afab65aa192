import { z } from 'zod';
import { fail, Priority, tool } from '../../src/index.js';
import { Delimiter, readTable } from './formats/csv-table.js';
import { MAX_ROWS, MAX_TEXT } from './formats/limits.js';
import { DATA_TOOL } from './data-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/**
 * Matches numbers in JSON notation. Text with a leading zero is probably a code, such as a postal
 * code.
 */
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

const Input = z.object({
  csv: z.string().max(MAX_TEXT).describe('CSV text with a header line'),
  convert: z
    .boolean()
    .default(false)
    .describe('Convert plain numbers, true and false to values, and empty fields to null'),
  limit: wholeNumber(MAX_ROWS, MAX_ROWS).describe('Maximum number of records to return'),
  delimiter: Delimiter,
});

type Value = string | number | boolean | null;

/** Converts CSV to one object per row. */
@tool({
  ...DATA_TOOL,
  name: 'csv_to_json',
  description:
    'Converts CSV text with a header line (RFC 4180) into a list of objects, one per row, with the columns as keys. Fields stay text unless convert is set. At most 10000 records and 5 million characters.',
  inputSchema: Input,
  priority: Priority.LOW,
  keywords: ['csv', 'csv to json', 'convert csv', 'json', 'table', 'records', 'objects'],
  mandatoryKeywords: ['csv to json', 'convert csv'],
  stages: ['reading', 'execution'],
  taskTypes: ['generation', 'analysis'],
  examples: [
    'Convert this CSV to JSON',
    'Turn the table into a list of objects',
    'Make JSON records of this semicolon-separated file',
  ],
})
export class CsvToJson {
  execute({ csv, convert = false, limit = MAX_ROWS, delimiter = ',' }: z.input<typeof Input>) {
    const table = readTable(csv, delimiter);
    if (typeof table === 'string') return fail(table);
    const { columns, rows } = table;
    // `fromEntries` creates own properties even for a column called `__proto__`.
    const records = rows
      .slice(0, limit)
      .map((row) =>
        Object.fromEntries(
          columns.map((column, index) => [column, valueOf(row[index] ?? '', convert)]),
        ),
      );
    return { records, found: rows.length, truncated: rows.length > limit };
  }
}

function valueOf(field: string, convert: boolean): Value {
  if (!convert) return field;
  if (field === '') return null;
  if (field === 'true' || field === 'false') return field === 'true';
  const number = NUMBER.test(field) ? Number(field) : NaN;
  // A long identifier stays text, because converting it to a number would change its digits.
  return String(number) === field ? number : field;
}
