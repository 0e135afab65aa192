import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';

/** The usual delimiters. Any other character is probably a mistake. */
export const Delimiter = z
  .enum([',', ';', '\t', '|'])
  .default(',')
  .describe('Character that separates fields');

/** A table as text: its column names, and rows with exactly one field per column. */
interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A record and the number of the line it ends on. */
interface Line {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** Reads CSV (RFC 4180) with a header line. If the text isn't a table, returns the reason. */
export function readTable(csv: string, delimiter: string): Table | string {
  let lines: readonly Line[];
  try {
    lines = parse(csv, {
      bom: true,
      delimiter,
      // Without this setting, the parser expects every line to end with the same characters as the
      // first line.
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      info: true,
    }) as unknown as readonly Line[]; // The type definitions lack `info`.
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return `This isn't valid CSV: ${error.message}. Quote the whole field, and double any quotes inside it.`;
  }
  const [header, ...body] = lines;
  if (header === undefined) return 'The text is empty. It must start with a header line.';
  const columns = header.record;
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice !== undefined)
    return `The column name "${twice.slice(0, 100)}" appears more than once. Rename one of the columns.`;
  // Blank lines are skipped, unless the table has only one column.
  const rows = body.filter(
    ({ record }) => columns.length === 1 || record.length > 1 || record[0] !== '',
  );
  const ragged = rows.find(({ record }) => record.length !== columns.length);
  if (ragged !== undefined)
    return `line ${ragged.info.lines}: Expected ${columns.length} fields as in the header, got ${ragged.record.length}. Check the line's quotes and the delimiter.`;
  return { columns, rows: rows.map(({ record }) => record) };
}
