import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { withSlashes } from '../../host/shown-path.js';
import { compareText } from '../../core/plain-data.js';
import { type ManifestIssue, wholeFinding } from './manifest-issue.js';

/** A manifest file in a folder. */
export interface ManifestFile {
  /** The absolute path, for opening the file. Never shown. */
  readonly path: string;
  /**
   * The path relative to the folder, with `/`. For a single file, the path is relative to the
   * working directory.
   */
  readonly file: string;
  readonly kind: 'tools' | 'skills' | 'jobs' | 'tasks';
  /** The persona that owns the file, spelled like the persona's folder. `null` for shared files. */
  readonly owner: string | null;
}

/** The manifests in a folder: shared manifests first, then by persona. */
interface FolderFiles {
  readonly files: readonly ManifestFile[];
  readonly issues: readonly ManifestIssue[];
}

type Places = Readonly<Record<ManifestFile['kind'], readonly string[]>>;

/**
 * Locations of shared manifests, relative to the root. The locations in `modules/` come from the
 * first version of this format.
 */
const SHARED: Places = {
  tools: ['functions.json', 'tools.json', 'modules/Tools/tool_maps/functions.json'],
  skills: ['skills.json', 'shared/skills.json', 'modules/Skills/skills.json'],
  jobs: ['jobs.json', 'shared/jobs.json', 'modules/Jobs/jobs.json'],
  tasks: ['tasks.json', 'shared/tasks.json', 'modules/Tasks/tasks.json'],
};
/** The folders that contain personas, below the root. */
const PERSONA_FOLDERS = ['personas', 'modules/Personas'];
/** Locations of a persona's manifests, relative to its folder. */
const OWN: Places = {
  tools: ['Toolbox/functions.json', 'functions.json'],
  skills: ['Skills/skills.json', 'skills.json'],
  jobs: ['Jobs/jobs.json', 'jobs.json'],
  tasks: ['Tasks/tasks.json', 'tasks.json'],
};
const OF_PERSONA = /[\\/]personas[\\/]([^\\/]+)[\\/](?:Toolbox[\\/])?functions\.json$/i;

/**
 * Finds the manifests below a folder: `functions.json` (or `tools.json`), `skills.json`,
 * `jobs.json` and `tasks.json`. All of these except `functions.json` and `tools.json` may also be
 * in `shared/`. Each persona's files are in `personas/<Persona>/`, or in the subfolders `Toolbox/`,
 * `Skills/`, `Jobs/` and `Tasks/`. The folders `modules/Tools/tool_maps` and
 * `modules/Personas/<Persona>` work as well.
 *
 * Symlinks that lead out of the folder aren't followed. Never throws.
 */
export async function findManifestFiles(folder: string): Promise<FolderFiles> {
  const root = resolve(folder);
  const search = new FolderSearch(root, await realpath(root).catch(() => undefined));
  await search.run();
  return { files: search.files, issues: search.issues };
}

/** Collects the manifests below one folder, and what's wrong with its paths. */
class FolderSearch {
  readonly files: ManifestFile[] = [];
  readonly issues: ManifestIssue[] = [];
  readonly #root: string;
  readonly #realRoot: string | undefined;

  constructor(root: string, realRoot: string | undefined) {
    this.#root = root;
    this.#realRoot = realRoot;
  }

  async run(): Promise<void> {
    if (this.#realRoot === undefined) return this.#report(this.#root, "The folder doesn't exist.");
    await this.#add(this.#root, SHARED, null);
    for (const place of PERSONA_FOLDERS) {
      const personas = join(this.#root, place);
      if (!(await this.#isInside(personas))) continue;
      const listed = await readdir(personas).catch(() => undefined);
      if (listed === undefined) this.#report(personas, "The folder of personas can't be read.");
      for (const persona of (listed ?? []).sort(compareText)) {
        if (persona.startsWith('.')) continue;
        const own = join(personas, persona);
        // `stat` follows links, but `#isInside` has checked that their targets are inside the folder.
        if (!(await this.#isInside(own))) continue;
        const stats = await stat(own).catch(() => undefined);
        if (stats?.isDirectory() === true) await this.#add(own, OWN, persona);
      }
    }
  }

  async #add(folder: string, places: Places, owner: string | null): Promise<void> {
    for (const kind of Object.keys(places) as ManifestFile['kind'][])
      for (const place of places[kind] ?? []) {
        const path = join(folder, place);
        if (await this.#isInside(path))
          this.files.push({ path, file: this.#below(path), kind, owner });
      }
  }

  /** Resolves to true if a path exists and its real path is below the root. */
  async #isInside(path: string): Promise<boolean> {
    if (!(await lstat(path).catch(() => undefined))) return false;
    const real = await realpath(path).catch(() => undefined);
    const root = this.#realRoot!;
    if (real === undefined || real.startsWith(root.endsWith(sep) ? root : root + sep)) return true;
    this.#report(path, "This link leads out of the folder, so it isn't read.", 'warning');
    return false;
  }

  #report(path: string, message: string, severity?: ManifestIssue['severity']): void {
    this.issues.push(wholeFinding(null, this.#below(path), { message }, severity));
  }

  #below(path: string): string {
    return withSlashes(relative(this.#root, path));
  }
}

/** Returns the persona that owns the manifest at a path, based on the folders in the path. */
export function personaOfPath(path: string): string | undefined {
  return OF_PERSONA.exec(path)?.[1];
}

/** Maximum file size: 1 MiB, far more than real manifests need. */
const MAX_BYTES = 1_048_576;

/**
 * Reads a small UTF-8 file, or returns a sentence that explains why it can't be read. Never throws.
 */
export async function readTextFile(
  path: string,
): Promise<{ readonly text: string } | { readonly fault: string }> {
  try {
    const stats = await stat(path);
    // Reading from a named pipe would block until something writes to it.
    if (!stats.isFile()) return { fault: 'This is a folder or a device, not a file.' };
    if (stats.size > MAX_BYTES)
      return { fault: 'The file is larger than 1 MiB. Split it into several files.' };
    const bytes = await readFile(path);
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch (error) {
    const { code = 'an error' } = error as NodeJS.ErrnoException;
    return { fault: READ_FAULTS[code] ?? `The file can't be read (${code}).` };
  }
}

const READ_FAULTS: Readonly<Record<string, string>> = {
  ERR_ENCODING_INVALID_ENCODED_DATA: "The file isn't UTF-8 text. Save it as UTF-8.",
  ENOENT: 'File not found.',
};
