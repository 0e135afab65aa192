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
  type Stats,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';

/**
 * The folder that a tool runs in: a copy of the root, next to an empty home and a folder for
 * temporary files.
 */
export interface Scratch {
  /** The only folder that the tool may write to. It contains `root`, `home` and `tmp`. */
  readonly folder: string;
  readonly root: string;
  /**
   * The recorder's file and the sink's socket. They are outside the folder that the tool may write
   * to.
   */
  readonly record: string;
  readonly sink: string;
  readonly remove: () => void;
}

/** Limits for a root that is copied. */
const MOST_FILES = 20_000;
const MOST_BYTES = 200 * 2 ** 20;

/**
 * Creates a scratch copy of a root. Package folders become links, because they can't be written to.
 * @throws ToolError `LIMIT_EXCEEDED` if the root is too large.
 */
export function makeScratch(source: string | undefined): Scratch {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'tdx-')));
  const folder = join(place, 'in');
  const root = join(folder, 'root');
  for (const each of ['home', 'tmp', 'root']) mkdirSync(join(folder, each), { recursive: true });
  const remove = () => rmSync(place, { recursive: true, force: true });
  try {
    if (source !== undefined) copyRoot(source, root);
    const packages =
      source === undefined || existsSync(join(source, 'node_modules'))
        ? undefined
        : packagesAbove(source);
    if (packages !== undefined) symlinkSync(packages, join(folder, 'node_modules'), 'junction');
    // The nearest `package.json` determines the files' module type.
    const manifest =
      source === undefined || existsSync(join(source, 'package.json'))
        ? undefined
        : manifestAbove(source);
    if (manifest !== undefined) writeFileSync(join(folder, 'package.json'), manifest);
    writeFileSync(join(place, 'record'), '');
  } catch (error) {
    remove();
    throw error;
  }
  return {
    folder,
    root,
    record: join(place, 'record'),
    sink: process.platform === 'win32' ? `\\\\.\\pipe\\${basename(place)}` : join(place, 'sink'),
    remove,
  };
}

function copyRoot(source: string, root: string): void {
  let files = 0;
  let bytes = 0;
  const links: string[] = [];
  cpSync(source, root, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (from) => {
      const status = lstatSync(from);
      if (basename(from) === 'node_modules') return !links.push(from);
      if (++files > MOST_FILES || (bytes += status.size) > MOST_BYTES)
        throw new ToolError(
          'LIMIT_EXCEEDED',
          expectedGot(
            `a root of at most ${MOST_FILES} files and ${MOST_BYTES / 2 ** 20} MiB besides node_modules, to be copied`,
            'a larger one',
            'Pass a smaller folder as the root.',
          ),
        );
      return status.isFile() || status.isDirectory() || status.isSymbolicLink();
    },
  });
  for (const link of links)
    symlinkSync(realpathSync(link), join(root, relative(source, link)), 'junction');
}

function packagesAbove(folder: string): string | undefined {
  if (existsSync(join(folder, 'node_modules'))) return realpathSync(join(folder, 'node_modules'));
  return dirname(folder) === folder ? undefined : packagesAbove(dirname(folder));
}

function manifestAbove(folder: string): string | undefined {
  if (existsSync(join(folder, 'package.json')))
    return readFileSync(join(folder, 'package.json'), 'utf8');
  return dirname(folder) === folder ? undefined : manifestAbove(dirname(folder));
}

/** The entries of a scratch folder at some moment, by path. */
type Snapshot = ReadonlyMap<string, Stats>;

/** Returns the entries of a scratch folder. */
export function snapshotOf({ folder }: Scratch): Snapshot {
  const found = new Map<string, Stats>();
  const walk = (path: string) => {
    for (const name of readdirSync(join(folder, path))) {
      const inner = join(path, name);
      const status = lstatSync(join(folder, inner), { throwIfNoEntry: false });
      // A loader keeps compiled code in the folder for temporary files.
      if (status === undefined || /^tmp[\\/]tsx-|(?:^|[\\/])node_modules$/.test(inner)) continue;
      found.set(inner, status);
      if (status.isDirectory()) walk(inner);
    }
  };
  walk('');
  return found;
}

/** A changed file, folder or link. */
export interface Change {
  /** The path, relative to the root. Paths beside it are `../home/…` and `../tmp/…`. */
  readonly path: string;
  readonly change: 'created' | 'changed' | 'removed';
  /** A digest of its content now. */
  readonly content: string;
}

/** Returns the changes in a scratch folder since a snapshot. */
export function changesSince(scratch: Scratch, before: Snapshot): readonly Change[] {
  const after = snapshotOf(scratch);
  const told = (path: string, change: Change['change'], content = ''): Change => ({
    path: relative(scratch.root, join(scratch.folder, path)).split('\\').join('/'),
    change,
    content,
  });
  const present = [...after].flatMap(([path, status]) => {
    const old = before.get(path);
    const isSame =
      old !== undefined &&
      old.ino === status.ino &&
      old.mode === status.mode &&
      (status.isDirectory() ||
        (old.size === status.size &&
          old.mtimeMs === status.mtimeMs &&
          old.ctimeMs === status.ctimeMs));
    return isSame
      ? []
      : [
          told(
            path,
            old === undefined ? 'created' : 'changed',
            contentOf(join(scratch.folder, path), status),
          ),
        ];
  });
  return [
    ...present,
    ...[...before.keys()].filter((path) => !after.has(path)).map((path) => told(path, 'removed')),
  ];
}

function contentOf(path: string, status: Stats): string {
  if (status.isDirectory()) return `folder ${status.mode}`;
  if (status.isSymbolicLink()) return `link ${readlinkSync(path)}`;
  return `${status.mode} ${status.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'special'}`;
}
