import { z } from 'zod';

/** The usual delimiters. Any other character is probably a mistake. */
export const Delimiter = z
  .enum([',', ';', '\t', '|'])
  .default(',')
  .describe('Character between fields');

/** A table as text: its column names, and rows with exactly one field per column. */
interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Reads CSV (RFC 4180) with a header line. If the text isn't a table, returns the reason. */
export function readTable(csv: string, delimiter: string): Table | string {
  const records = readRecords(csv.startsWith('\ufeff') ? csv.slice(1) : csv, delimiter);
  if (typeof records === 'string') return records;
  const [header, ...body] = records;
  if (header === undefined) return 'Expected a header line, got an empty text.';
  const columns = header.fields;
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice !== undefined)
    return `The column name "${twice.slice(0, 100)}" occurs twice. Rename one of the columns.`;
  // In a table with several columns, a blank line isn't a row.
  const rows = body.filter(
    ({ fields }) => columns.length === 1 || fields.length > 1 || fields[0] !== '',
  );
  const ragged = rows.find(({ fields }) => fields.length !== columns.length);
  if (ragged !== undefined)
    return `line ${ragged.line}: Expected ${columns.length} fields as in the header, got ${ragged.fields.length}. Check its quotes and the delimiter.`;
  return { columns, rows: rows.map(({ fields }) => fields) };
}

interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

function readRecords(csv: string, delimiter: string): CsvRecord[] | string {
  const records: CsvRecord[] = [];
  let fields: string[] = [];
  let line = 1;
  let recordLine = 1;
  let at = 0;
  while (at < csv.length || fields.length > 0) {
    let field = '';
    if (csv[at] === '"') {
      const opened = line;
      for (at += 1; ;) {
        const quote = csv.indexOf('"', at);
        if (quote < 0) return `line ${opened}: A closing quote is missing.`;
        const piece = csv.slice(at, quote);
        line += piece.split('\n').length - 1;
        field += piece;
        at = quote + 1;
        if (csv[at] !== '"') break;
        field += '"';
        at += 1;
      }
      if (at < csv.length && csv[at] !== delimiter && csv[at] !== '\n' && csv[at] !== '\r')
        return `line ${line}: There is text between a closing quote and the delimiter. Write quotes inside a field twice.`;
    } else {
      const start = at;
      while (at < csv.length && csv[at] !== delimiter && csv[at] !== '\n' && csv[at] !== '\r') {
        if (csv[at] === '"')
          return `line ${line}: There is a quote in the middle of an unquoted field. Quote the whole field.`;
        at += 1;
      }
      field = csv.slice(start, at);
    }
    fields.push(field);
    if (csv[at] === delimiter) {
      at += 1;
      continue;
    }
    at += csv[at] === '\r' && csv[at + 1] === '\n' ? 2 : 1;
    records.push({ line: recordLine, fields });
    fields = [];
    line += 1;
    recordLine = line;
  }
  return records;
}
