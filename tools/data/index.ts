import { CsvQuery } from './csv-query.js';
import { CsvToJson } from './csv-to-json.js';
import { DiffText } from './diff-text.js';
import { JsonFormat } from './json-format.js';
import { JsonQuery } from './json-query.js';
import { TextStats } from './text-stats.js';

export { CsvQuery, CsvToJson, DiffText, JsonFormat, JsonQuery, TextStats };

/** Creates the tools for data that the caller already has. They only compute. */
export function createDataTools() {
  return [
    new JsonQuery(),
    new JsonFormat(),
    new CsvQuery(),
    new CsvToJson(),
    new TextStats(),
    new DiffText(),
  ] as const;
}
