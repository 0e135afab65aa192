import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { compareText } from '../../core/plain-data.js';
import { fileIssue, type ManifestIssue } from './manifest-issue.js';
import { ownerKey, personaKey } from './persona.js';

/** A manifest file of a folder. */
export interface ManifestFile {
  /** The absolute path, for opening; never shown. */
  readonly path: string;
  /** The path relative to the working directory, for messages. */
  readonly file: string;
  readonly kind: 'tools' | 'skills' | 'jobs' | 'tasks';
  /** The persona it belongs to, as its folder spells it; missing for shared ones. */
  readonly persona?: string;
}

/** The manifests of a folder: shared ones first, then by persona. */
export interface FolderFiles {
  readonly files: readonly ManifestFile[];
  readonly issues: readonly ManifestIssue[];
}

type Places = Readonly<Record<ManifestFile['kind'], readonly string[]>>;

/** The places of shared manifests, below the root. The last are those of the first design of this format. */
const SHARED: Places = {
  tools: ['functions.json', 'tools.json', 'modules/Tools/tool_maps/functions.json'],
  skills: ['skills.json', 'shared/skills.json', 'modules/Skills/skills.json'],
  jobs: ['jobs.json', 'shared/jobs.json', 'modules/Jobs/jobs.json'],
  tasks: ['tasks.json', 'shared/tasks.json', 'modules/Tasks/tasks.json'],
};
/** The folders of personas, below the root. */
const PERSONA_FOLDERS = ['personas', 'modules/Personas'];
/** The places of a persona's manifests, below its folder. */
const OWN: Places = {
  tools: ['Toolbox/functions.json', 'functions.json'],
  skills: ['Skills/skills.json', 'skills.json'],
  jobs: ['Jobs/jobs.json', 'jobs.json'],
  tasks: ['Tasks/tasks.json', 'tasks.json'],
};
const OF_PERSONA = /[\\/]personas[\\/]([^\\/]+)[\\/](?:Toolbox[\\/])?functions\.json$/i;
const MOST_PERSONAS = 1_000;

/**
 * Finds the manifests below a folder: `functions.json` (or `tools.json`), `skills.json`, `jobs.json` and `tasks.json`,
 * the last three also in `shared/`; and for each persona those in `personas/<Persona>/`, there also in `Toolbox/`,
 * `Skills/`, `Jobs/` and `Tasks/`. The folders `modules/Tools/tool_maps` and `modules/Personas/<Persona>` are known as
 * well.
 *
 * Targets of symbolic links outside of the folder are not read. Personas are compared in any case: a second folder of
 * one persona is an issue and not read. Never throws.
 */
export async function findManifestFiles(folder: string): Promise<FolderFiles> {
  const root = resolve(folder);
  const files: ManifestFile[] = [];
  const issues: ManifestIssue[] = [];
  const say = (path: string, message: string, severity?: ManifestIssue['severity']) =>
    void issues.push(fileIssue(shownPath(path, root), message, severity));
  const realRoot = await realpath(root).catch(() => undefined);
  if (realRoot === undefined) {
    say(root, 'Expected a folder with manifests, got nothing.');
    return { files, issues };
  }

  /** Resolves to true for a path that exists and whose real path is below the root. */
  const isInside = async (path: string): Promise<boolean> => {
    if (!(await lstat(path).catch(() => undefined))) return false;
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined || real.startsWith(realRoot + (realRoot.endsWith(sep) ? '' : sep)))
      return true;
    say(
      path,
      'Expected a place inside of the folder, got a link that leads out of it. It is not read.',
      'warning',
    );
    return false;
  };
  const add = async (below: string, places: Places, persona?: string) => {
    for (const [kind, paths] of Object.entries(places) as [
      ManifestFile['kind'],
      readonly string[],
    ][]) {
      for (const path of paths.map((place) => join(below, place))) {
        if (await isInside(path))
          files.push(
            Object.freeze({
              path,
              file: shownPath(path, root),
              kind,
              ...(persona === undefined ? {} : { persona }),
            }),
          );
      }
    }
  };

  await add(root, SHARED);
  const folderOf = new Map<string, string>();
  for (const personas of PERSONA_FOLDERS.map((place) => join(root, place))) {
    if (!(await isInside(personas))) continue;
    const listed = await readdir(personas).catch(() => undefined);
    if (listed === undefined)
      say(personas, 'Expected a folder of personas that can be read, got none.');
    const names = (listed ?? []).filter((name) => !name.startsWith('.')).sort(compareText);
    if (names.length > MOST_PERSONAS)
      say(
        personas,
        `Expected at most ${MOST_PERSONAS} personas, got ${names.length}. The rest is not read.`,
      );
    for (const persona of names.slice(0, MOST_PERSONAS)) {
      const own = join(personas, persona);
      // Links count as their targets, which are known to be inside.
      if (!(await isInside(own)) || !(await stat(own).catch(() => undefined))?.isDirectory())
        continue;
      const known = folderOf.get(personaKey(persona));
      if (ownerKey(persona) === '')
        say(
          own,
          `Expected the name of a persona, got ${JSON.stringify(persona)}, which stands for the shared tools. Rename the folder.`,
        );
      else if (known !== undefined)
        say(
          own,
          `Expected one folder for each persona, got a second one beside ${JSON.stringify(shownPath(known, root))} (upper and lower case are the same). It is not read.`,
        );
      else {
        folderOf.set(personaKey(persona), own);
        await add(own, OWN, persona);
      }
    }
  }
  return { files, issues };
}

/** Returns the persona whose own manifest a path is, by its folders. */
export function personaOfPath(path: string): string | undefined {
  return OF_PERSONA.exec(path)?.[1];
}

/** The largest file in bytes: 1 MiB, far above real manifests. */
const MAX_BYTES = 1_048_576;
/** The number of times that a file is read again because it changes meanwhile. */
const MOST_ATTEMPTS = 5;

/** The text of a file, or a sentence that says why there is none. */
type FileText = { readonly text: string } | { readonly fault: string };

/**
 * Reads a small file of UTF-8 text as it was at one moment.
 *
 * It reads twice and compares, so that a concurrent writer yields the old text, the new one, or a fault, and never a
 * mix of both. Never throws.
 */
export async function readTextFile(path: string): Promise<FileText> {
  try {
    let before = await readBytes(path);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      if (typeof before === 'string') return { fault: before };
      const after = await readBytes(path);
      if (typeof after !== 'string' && before.equals(after))
        return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(after) };
      before = after;
    }
    return {
      fault:
        'Expected a file that holds still, got one that changes with every look. Write it beside and rename it.',
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      return { fault: 'Expected UTF-8 text, got other bytes. Save the file as UTF-8.' };
    return {
      fault:
        code === 'ENOENT'
          ? 'Expected a file, got none.'
          : `Expected a file that can be read, got ${code ?? 'an error'}.`,
    };
  }
}

const TOO_LONG = 'Expected at most 1 MiB, got more. Split it into several files.';

async function readBytes(path: string): Promise<Buffer | string> {
  let file: FileHandle | undefined;
  try {
    // A named pipe would block the open.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) return 'Expected a file, got a folder or a device.';
    if (stats.size > MAX_BYTES) return TOO_LONG;
    // One byte more than it has, so that growth is noticed.
    let buffer = Buffer.alloc(Math.min(stats.size, MAX_BYTES) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (length > MAX_BYTES) return TOO_LONG;
      if (bytesRead === 0) return buffer.subarray(0, length);
      if (length === buffer.length)
        buffer = Buffer.concat([buffer], Math.min(2 * buffer.length, MAX_BYTES + 1));
    }
  } finally {
    await file?.close();
  }
}

/**
 * Returns the name of a file in messages: relative to the working directory, with `/`.
 *
 * If they share nothing but the root of the file system, that would be an absolute path in other words: then it is
 * relative to a folder above it, which is named.
 */
export function shownPath(path: string, above = dirname(path), directory = process.cwd()): string {
  const steps = relative(directory, path).split(sep);
  const climbs = steps.filter((step) => step === '..').length;
  const isApart =
    isAbsolute(steps.join(sep)) ||
    (climbs > 0 && climbs >= directory.split(sep).filter((step) => step !== '').length);
  return isApart
    ? [basename(above), ...relative(above, path).split(sep)].filter((step) => step !== '').join('/')
    : steps.join('/') || '.';
}
