import { z } from 'zod';
import { fail, tool } from '../../src/index.js';
import { Delimiter, readTable } from './formats/csv-table.js';
import { MAX_ROWS, MAX_TEXT, USUAL_ROWS } from './formats/limits.js';
import { DATA_TOOL } from './data-tool.js';
import { wholeNumber } from '../options/shared-options.js';

const Input = z.object({
  csv: z.string().max(MAX_TEXT).describe('CSV text with a header line'),
  select: z
    .array(z.string())
    .min(1)
    .max(1_000)
    .optional()
    .describe('Columns to return, in this order; all columns if omitted'),
  where: z
    .record(z.string(), z.string())
    .optional()
    .describe('Only rows in which each of these columns equals the given text'),
  limit: wholeNumber(USUAL_ROWS, MAX_ROWS).describe('Maximum number of rows to return'),
  offset: z.number().int().min(0).default(0).describe('Number of matching rows to skip'),
  delimiter: Delimiter,
});

/** Selects columns and rows from CSV text. */
@tool({
  ...DATA_TOOL,
  name: 'csv_query',
  description:
    'Reads CSV text with a header line (RFC 4180, including quoted fields) and returns the chosen columns of the rows whose fields equal the given values. Fields are text and compared exactly. At most 5 million characters. Returns 100 rows unless you set limit.',
  inputSchema: Input,
  keywords: [
    'csv',
    'table',
    'filter rows',
    'columns',
    'select columns',
    'spreadsheet',
    'query csv',
    'records',
  ],
  mandatoryKeywords: ['query csv', 'csv query', 'filter csv'],
  stages: ['reading', 'analysis'],
  taskTypes: ['analysis', 'search'],
  examples: [
    'Show name and price of the rows where status is open',
    'Which columns does this CSV have?',
    'Filter this CSV by country = DE',
    'Give me the first ten rows of the table',
  ],
})
export class CsvQuery {
  execute({
    csv,
    select,
    where = {},
    limit = USUAL_ROWS,
    offset = 0,
    delimiter = ',',
  }: z.input<typeof Input>) {
    const table = readTable(csv, delimiter);
    if (typeof table === 'string') return fail(table);
    const columns = select ?? table.columns;
    const unknown = [...columns, ...Object.keys(where)].find(
      (column) => !table.columns.includes(column),
    );
    if (unknown !== undefined)
      return fail(
        `Expected one of the columns ${table.columns
          .slice(0, 50)
          .map((column) => JSON.stringify(column))
          .join(', ')}, got "${unknown}".`,
      );
    const wanted = Object.entries(where).map(([column, value]) => ({
      index: table.columns.indexOf(column),
      value,
    }));
    const positions = columns.map((column) => table.columns.indexOf(column));
    const matching = table.rows.filter((row) =>
      wanted.every(({ index, value }) => row[index] === value),
    );
    const rows = matching
      .slice(offset, offset + limit)
      .map((row) => positions.map((position) => row[position] ?? ''));
    return { columns, rows, found: matching.length, truncated: offset + limit < matching.length };
  }
}
