import type { FileWall } from '../walls/file-wall.js';
import { DeleteFile } from './delete-file.js';
import { EditFile } from './edit-file.js';
import { FileInfo } from './file-info.js';
import { FindFiles } from './find-files.js';
import { ListDirectory } from './list-directory.js';
import { MoveFile } from './move-file.js';
import { ReadFile } from './read-file.js';
import { WriteFile } from './write-file.js';

export { DeleteFile, EditFile, FileInfo, FindFiles, ListDirectory, MoveFile, ReadFile, WriteFile };

/** Creates all tools for files, confined to one folder. */
export function createFileTools(wall: FileWall) {
  return [
    new ListDirectory(wall),
    new ReadFile(wall),
    new WriteFile(wall),
    new EditFile(wall),
    new FileInfo(wall),
    new MoveFile(wall),
    new DeleteFile(wall),
    new FindFiles(wall),
  ] as const;
}
