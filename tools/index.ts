import type { ToolSource } from '../src/index.js';
import { createCodeTools } from './code/index.js';
import { createComputeTools } from './compute/index.js';
import { createDataTools } from './data/index.js';
import { createFileTools } from './files/index.js';
import { createGitTools } from './git/index.js';
import { createNoteTools } from './notes/index.js';
import { createShellTools } from './shell/index.js';
import { createSystemTools } from './system/index.js';
import { createTestingTools } from './testing/index.js';
import { createTimeTools } from './time/index.js';
import { FileWall } from './walls/file-wall.js';
import { DEFAULT_PROGRAMS, ProgramWall } from './walls/program-wall.js';
import { createWebTools } from './web/index.js';

export { CountLines, OutlineFile, SearchText } from './code/index.js';
export { Calculate, EncodeText, HashText, RandomId } from './compute/index.js';
export { CsvQuery, CsvToJson, DiffText, JsonFormat, JsonQuery, TextStats } from './data/index.js';
export {
  DeleteFile,
  EditFile,
  FileInfo,
  FindFiles,
  ListDirectory,
  MoveFile,
  ReadFile,
  WriteFile,
} from './files/index.js';
export {
  GitBlame,
  GitBranches,
  GitCommit,
  GitDiff,
  GitLog,
  GitPush,
  GitRepository,
  GitShow,
  GitStatus,
  GitSwitch,
} from './git/index.js';
export { NoteAdd, NoteDelete, NoteList, NoteSearch, NoteStore } from './notes/index.js';
export { RunProgram, RunShell } from './shell/index.js';
export { DiskUsage, EnvironmentVariables, SystemInfo } from './system/index.js';
export { ListTests, RunTests } from './testing/index.js';
export { AddDuration, CurrentTime, DateDifference } from './time/index.js';
export { CheckUrl, ExtractLinks, FetchUrl, HttpRequest } from './web/index.js';
export { FileWall } from './walls/file-wall.js';
export { ProgramWall } from './walls/program-wall.js';
export { UrlWall } from './walls/url-wall.js';

/** The options of `createDefaultTools`. */
export interface DefaultToolsOptions {
  /**
   * The folder to which files, programs and the repository are confined.
   * @default the process's working directory
   */
  readonly root?: string;
  /**
   * Programs that `run_program` may start, in addition to those of the other tools.
   * @default node and npm
   */
  readonly allowedPrograms?: readonly string[];
  /** Allows the web tools to reach loopback and private addresses. @default false */
  readonly allowPrivateNetwork?: boolean;
  /** The clock, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
}

/**
 * Creates all bundled tools, in a stable order. Tools for files, programs and the web share one
 * wall each. Does no I/O.
 */
export function createDefaultTools(options: DefaultToolsOptions = {}): readonly ToolSource[] {
  const {
    root = process.cwd(),
    allowedPrograms = DEFAULT_PROGRAMS,
    allowPrivateNetwork = false,
    now = Date.now,
  } = options;
  const files = new FileWall(root);
  const programs = new ProgramWall({ root, allowedPrograms });
  return [
    ...createFileTools(files),
    ...createCodeTools(files),
    ...createGitTools(programs),
    ...createTestingTools(programs, files),
    ...createShellTools(programs),
    ...createWebTools({ allowPrivate: allowPrivateNetwork }),
    ...createDataTools(),
    ...createComputeTools(),
    ...createTimeTools({ now }),
    ...createNoteTools(files, { now }),
    ...createSystemTools({ root }),
  ];
}
