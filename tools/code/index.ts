import type { FileWall } from '../walls/file-wall.js';
import { CountLines } from './count-lines.js';
import { OutlineFile } from './outline-file.js';
import { SearchText } from './search-text.js';

export { CountLines, OutlineFile, SearchText };

/** All tools for searching code, behind one wall. */
export function createCodeTools(wall: FileWall) {
  return [new SearchText(wall), new OutlineFile(wall), new CountLines(wall)] as const;
}
