export { DeleteFile } from './delete-file.js';
export { EditFile } from './edit-file.js';
export { FileInfo } from './file-info.js';
export { FindFiles } from './find-files.js';
export { ListDirectory } from './list-directory.js';
export { MoveFile } from './move-file.js';
export { ReadFile } from './read-file.js';
export { WriteFile } from './write-file.js';
