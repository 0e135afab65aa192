import type { FileWall } from '../walls/file-wall.js';
import { CountLines } from './count-lines.js';
import { OutlineFile } from './outline-file.js';
import { SearchText } from './search-text.js';

export { CountLines, OutlineFile, SearchText };

/** Creates all tools for searching code, confined to one folder. */
export function createCodeTools(wall: FileWall) {
  return [new SearchText(wall), new OutlineFile(wall), new CountLines(wall)] as const;
}
