import { z } from 'zod';

/** The delimiters in use; a list, because any other character would be a mistake rather than a wish. */
export const Delimiter = z
  .enum([',', ';', '\t', '|'])
  .default(',')
  .describe('Character between fields');

/** A table as text: the names of its columns, and rows with exactly one field for each. */
interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Reads CSV (RFC 4180) with a header line; what is no table comes back as the reason. */
export function readTable(csv: string, delimiter: string): Table | string {
  const records = readRecords(csv.startsWith('\ufeff') ? csv.slice(1) : csv, delimiter);
  if (typeof records === 'string') return records;
  const [header, ...body] = records;
  if (header === undefined) return 'Expected a header line, got an empty text.';
  const columns = header.fields;
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice !== undefined)
    return `Expected each column name once, got "${twice.slice(0, 100)}" twice. Rename one.`;
  // A blank line is one empty field: in a table of several columns it is none.
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
        if (quote < 0) return `line ${opened}: Expected a closing quote, got the end of the text.`;
        const piece = csv.slice(at, quote);
        line += piece.split('\n').length - 1;
        field += piece;
        at = quote + 1;
        if (csv[at] !== '"') break;
        field += '"';
        at += 1;
      }
      if (at < csv.length && csv[at] !== delimiter && csv[at] !== '\n' && csv[at] !== '\r')
        return `line ${line}: Expected a delimiter after the closing quote, got other text. Write quotes inside a field twice.`;
    } else {
      const start = at;
      while (at < csv.length && csv[at] !== delimiter && csv[at] !== '\n' && csv[at] !== '\r') {
        if (csv[at] === '"')
          return `line ${line}: Expected a field with quotes inside to be quoted as a whole, got a quote in the middle.`;
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
