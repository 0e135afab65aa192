export { CsvQuery } from './csv-query.js';
export { CsvToJson } from './csv-to-json.js';
export { DiffText } from './diff-text.js';
export { JsonFormat } from './json-format.js';
export { JsonQuery } from './json-query.js';
export { TextStats } from './text-stats.js';
