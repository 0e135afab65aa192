import type { ToolSource } from '../src/index.js';
import * as codeTools from './code/index.js';
import * as computeTools from './compute/index.js';
import * as dataTools from './data/index.js';
import * as fileTools from './files/index.js';
import { GitRepository } from './git/git-repository.js';
import * as gitTools from './git/index.js';
import * as noteTools from './notes/index.js';
import { NoteStore } from './notes/note-store.js';
import * as shellTools from './shell/index.js';
import { DiskUsage, EnvironmentVariables, SystemInfo } from './system/index.js';
import { ListTests, RunTests } from './testing/index.js';
import { AddDuration, CurrentTime, DateDifference } from './time/index.js';
import { FileWall } from './walls/file-wall.js';
import { DEFAULT_PROGRAMS, ProgramWall } from './walls/program-wall.js';
import { UrlWall } from './walls/url-wall.js';
import * as webTools from './web/index.js';

export * from './code/index.js';
export * from './compute/index.js';
export * from './data/index.js';
export * from './files/index.js';
export * from './git/index.js';
export * from './notes/index.js';
export * from './shell/index.js';
export * from './system/index.js';
export * from './testing/index.js';
export * from './time/index.js';
export * from './web/index.js';
export { defaultToolHints } from './hints.js';
export { FileWall, GitRepository, NoteStore, ProgramWall, UrlWall };
export type { OutlineEntry } from './code/outline-rules.js';
export type { Entry } from './walls/file-io.js';
export type { FileKeys } from './walls/file-keys.js';
export type { FileStat } from './walls/file-wall.js';
export type { ProgramResult } from './walls/program-wall.js';
export type { CheckedUrl } from './walls/url-wall.js';
export type { PageLink } from './web/html-text.js';

/** Options for `createDefaultTools`. */
export interface DefaultToolsOptions {
  /**
   * The folder to which files, programs and the repository are confined.
   * @default the process's working directory
   */
  readonly root?: string;
  /**
   * Programs that `run_program` may start. Other tools may always start the programs that they
   * need.
   * @default node and npm
   */
  readonly allowedPrograms?: readonly string[];
  /** Allows the web tools to reach loopback and private addresses. @default false */
  readonly allowPrivateNetwork?: boolean;
  /** The clock, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
}

/** Instantiates each tool class that a folder exports. */
function each<Arguments extends readonly unknown[]>(
  folder: Readonly<Record<string, new (...given: Arguments) => object>>,
  ...given: Arguments
): readonly object[] {
  return Object.values(folder).map((Tool) => new Tool(...given));
}

/**
 * Creates all bundled tools, in a stable order. Does no I/O. All file tools share one `FileWall`,
 * all program tools one `ProgramWall`, and all web tools one `UrlWall`.
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
    ...each(fileTools, files),
    ...each(codeTools, files),
    ...each(gitTools, new GitRepository(programs)),
    new ListTests(files),
    new RunTests(programs, files),
    ...each(shellTools, programs),
    ...each(webTools, new UrlWall({ allowPrivate: allowPrivateNetwork })),
    ...each(dataTools),
    ...each(computeTools),
    new AddDuration(),
    new CurrentTime(now),
    new DateDifference(),
    ...each(noteTools, new NoteStore(files, { now })),
    new SystemInfo(),
    new DiskUsage(root),
    new EnvironmentVariables(),
  ];
}
