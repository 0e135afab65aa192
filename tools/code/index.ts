export { CountLines } from './count-lines.js';
export { OutlineFile } from './outline-file.js';
export { SearchText } from './search-text.js';
