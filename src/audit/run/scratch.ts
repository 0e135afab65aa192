import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { ToolError } from '../../core/errors.js';

/**
 * A folder that a tool runs in: a copy of the root, an empty home, and a folder for temporary
 * files.
 */
export interface Scratch {
  /** The only folder that the tool may write to. This folder contains `root`, `home` and `tmp`. */
  readonly folder: string;
  readonly root: string;
  /** The file that the recorder writes to. The tool itself can't write to this file. */
  readonly record: string;
  /** The socket of the sink, which replaces the network. */
  readonly sink: string;
  readonly remove: () => void;
}

/** Maximum size of a root in bytes. Each tool gets its own copy of the root. */
const MOST_BYTES = 200 * 2 ** 20;

/**
 * Creates a scratch copy of a root. Folders of packages are linked instead of copied, because the
 * tool can't write to them.
 *
 * @throws ToolError `LIMIT_EXCEEDED` if the root is too large.
 */
export function makeScratch(source: string | undefined): Scratch {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'tdx-')));
  const folder = join(place, 'in');
  const root = join(folder, 'root');
  const record = join(place, 'record');
  for (const each of ['home', 'tmp', 'root']) mkdirSync(join(folder, each), { recursive: true });
  writeFileSync(record, '');
  const remove = () => rmSync(place, { recursive: true, force: true });
  try {
    if (source !== undefined) copyRoot(source, root, folder);
  } catch (error) {
    remove();
    throw error;
  }
  const sink = process.platform === 'win32' ? `\\\\.\\pipe\\${basename(place)}` : `${place}/sink`;
  return { folder, root, record, sink, remove };
}

function copyRoot(source: string, root: string, folder: string): void {
  let bytes = 0;
  const link = (from: string, to: string) => symlinkSync(realpathSync(from), to, 'junction');
  const packages: string[] = [];
  cpSync(source, root, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (from) => {
      const status = lstatSync(from);
      if (basename(from) === 'node_modules') return !packages.push(from);
      if ((bytes += status.size) > MOST_BYTES)
        throw new ToolError(
          'LIMIT_EXCEEDED',
          `The root is larger than ${MOST_BYTES / 2 ** 20} MiB, not counting node_modules. Pass a smaller folder as the root.`,
        );
      return status.isFile() || status.isDirectory() || status.isSymbolicLink();
    },
  });
  for (const each of packages) link(each, join(root, relative(source, each)));
  // Code in the root may need the packages and the module type of a folder above.
  const above = dirname(source);
  const modules = nearest(above, 'node_modules');
  if (modules !== undefined) link(modules, join(folder, 'node_modules'));
  const manifest = nearest(above, 'package.json');
  if (manifest !== undefined) writeFileSync(join(folder, 'package.json'), readFileSync(manifest));
}

/**
 * Returns the path of the nearest file with the given name, in a folder or in the folders above it.
 */
function nearest(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  return dirname(folder) === folder ? undefined : nearest(dirname(folder), name);
}

/** The contents of a scratch folder at one moment: a digest for each absolute path. */
type Snapshot = ReadonlyMap<string, string>;

/** Returns the contents of a scratch folder. */
export function snapshotOf({ folder }: Scratch): Snapshot {
  const found = new Map<string, string>();
  const walk = (parent: string) => {
    for (const name of readdirSync(parent)) {
      // Folders named `tsx-…` contain compiled code of tsx.
      if (name === 'node_modules' || name.startsWith('tsx-')) continue;
      const path = join(parent, name);
      try {
        const status = lstatSync(path);
        const content = status.isFile()
          ? createHash('sha1').update(readFileSync(path)).digest('hex')
          : status.isSymbolicLink() && readlinkSync(path);
        found.set(path, `${status.mode} ${content}`);
        if (status.isDirectory()) walk(path);
      } catch (error) {
        // The tool may still be removing files.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  };
  walk(folder);
  return found;
}

/** A changed file, folder or link. */
export interface Change {
  readonly path: string;
  readonly change: 'created' | 'changed' | 'removed';
}

/** Returns the changes from one snapshot to a later one. */
export function changesBetween(before: Snapshot, after: Snapshot): readonly Change[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((path): readonly Change[] => {
    if (before.get(path) === after.get(path)) return [];
    return [
      { path, change: !before.has(path) ? 'created' : after.has(path) ? 'changed' : 'removed' },
    ];
  });
}
